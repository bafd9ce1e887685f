package shortschema

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Found is what a version's schema has at the path of a column or of scale.
type Found struct {
	// Type is the type of the values, as in Column. It is empty if they can have any type, or do not exist.
	Type string
	// Wrong says what is wrong with the path at the byte Offset, if anything.
	Wrong  string
	Offset int
	// Name is the name of a field that does not exist, and Names are the names of those that do.
	Name  string
	Names []string
}

// Find follows a JSONPath of kubectl, such as .status.conditions[?(@.type=="Ready")].status.
func (v *Version) Find(path string) Found {
	if !strings.HasPrefix(path, ".") { // kubectl does not require the dot, but the API server does
		return Found{Wrong: "is no path of kubectl: it does not begin with a dot, as .spec does"}
	}
	root := v.schema()
	properties, _ := root["properties"].(map[string]any)
	properties["metadata"] = objectMeta()
	f := finder{path: path}
	if end := f.follow(root, len(path)); end["type"] != nil && f.found.Wrong == "" {
		f.found.Type = columnType(end)
	}
	return f.found
}

type finder struct {
	path string
	// at is the byte of the path up to which it was followed.
	at    int
	found Found
}

// follow returns the schema of the value that the path leads to up to the byte end; nil if it can be anything, or does
// not exist.
func (f *finder) follow(schema map[string]any, end int) map[string]any {
	for schema != nil && f.at < end && f.found.Wrong == "" {
		rest := f.path[f.at:end]
		switch {
		case strings.HasPrefix(rest, ".."): // it leads to values of several types
			return nil
		case rest[0] == '[':
			schema = f.bracket(rest, schema)
		default:
			name := strings.TrimPrefix(rest, ".")
			f.at += len(rest) - len(name)
			if name = stepName.FindString(name); name == "*" {
				schema = below(schema)
			} else {
				schema = f.field(strings.ReplaceAll(name, `\`, ""), schema)
			}
			f.at += len(name)
		}
	}
	return schema
}

// stepName matches a name in a path, in which a backslash precedes a dot or a bracket of the name.
var stepName = regexp.MustCompile(`^(?:\\.?|[^.\[\\])*`)

// inBrackets matches what can be in brackets: a name in quotes, a filter with the path that it compares, or an index.
var inBrackets = regexp.MustCompile(`^\[(?:'([^']*)'|\?\(\s*@([^=<>!)\s]*)[^)]*\)|(\*|[-0-9:]*)|[^\]]*,[^\]]*)\]`)

func (f *finder) bracket(rest string, schema map[string]any) map[string]any {
	m := inBrackets.FindStringSubmatchIndex(rest)
	if m == nil {
		problem := "unterminated array"
		if end := strings.IndexByte(rest, ']'); end > 0 {
			problem = "invalid array index " + rest[1:end]
		}
		f.found = Found{Wrong: "is no path of kubectl: " + problem}
		return nil
	}
	start := f.at
	switch {
	case m[2] >= 0:
		f.at += m[2]
		schema = f.field(strings.ReplaceAll(rest[m[2]:m[3]], `\`, ""), schema)
	case m[4] >= 0:
		if schema = f.items(schema); schema != nil {
			f.at += m[4]
			f.follow(schema, start+m[5])
		}
	case m[6] >= 0:
		schema = f.items(schema)
	default: // several items or names
		return nil
	}
	f.at = start + m[1]
	return schema
}

// field returns the schema of a field; nil if its value can be anything, or the field does not exist.
func (f *finder) field(name string, schema map[string]any) map[string]any {
	if name == "" {
		return schema
	}
	properties, _ := schema["properties"].(map[string]any)
	if properties[name] != nil {
		field, _ := properties[name].(map[string]any)
		return field
	}
	if entries, ok := schema["additionalProperties"].(map[string]any); ok {
		return entries
	}
	if !isOpen(schema) {
		f.found = Found{Wrong: "leads to no field of the schema", Offset: f.at, Name: name, Names: slices.Sorted(maps.Keys(properties))}
	}
	return nil
}

func isOpen(schema map[string]any) bool {
	allows, _ := schema["additionalProperties"].(bool)
	return allows || schema["x-kubernetes-preserve-unknown-fields"] == true || schema["x-kubernetes-embedded-resource"] == true
}

// items returns the schema of a list's items; nil if they can be anything, or the value is not a list.
func (f *finder) items(schema map[string]any) map[string]any {
	if items, ok := schema["items"].(map[string]any); ok {
		return items
	}
	if schema["type"] != nil && schema["type"] != "array" {
		f.found = Found{Wrong: "takes an item of what is no list", Offset: f.at}
	}
	return nil
}

// below returns the schema of the items or entries of a value; nil if they have no common one.
func below(schema map[string]any) map[string]any {
	for _, name := range []string{"items", "additionalProperties"} {
		if of, ok := schema[name].(map[string]any); ok {
			return of
		}
	}
	return nil
}

// objectMeta returns the schema of metadata, as far as a column can show it
// (https://github.com/kubernetes/apimachinery/blob/master/pkg/apis/meta/v1/types.go).
func objectMeta() map[string]any {
	text := map[string]any{"type": "string"}
	number := map[string]any{"type": "integer"}
	anything := map[string]any{"type": "array", "items": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}}
	return map[string]any{"type": "object", "properties": map[string]any{
		"name": text, "generateName": text, "namespace": text, "uid": text, "resourceVersion": text, "selfLink": text,
		"generation": number, "deletionGracePeriodSeconds": number,
		"creationTimestamp": formatted("date-time"), "deletionTimestamp": formatted("date-time"),
		"labels":          map[string]any{"type": "object", "additionalProperties": text},
		"annotations":     map[string]any{"type": "object", "additionalProperties": text},
		"finalizers":      map[string]any{"type": "array", "items": text},
		"ownerReferences": anything, "managedFields": anything,
	}}
}

// kubectlPath is the path of a field for kubectl. place is its path in the definition: that of the schema of a version,
// and then properties, name, properties, name, …
func kubectlPath(place []string) string {
	var b strings.Builder
	for i := len(Path(0)) + 1; i < len(place); i += 2 {
		b.WriteString("." + strings.ReplaceAll(place[i], ".", `\.`))
	}
	return b.String()
}

func columnType(schema map[string]any) string {
	kind, _ := schema["type"].(string)
	if kind == "string" && schema["format"] == "date-time" {
		return "date"
	}
	if kind == "" {
		return "string"
	}
	return kind
}
