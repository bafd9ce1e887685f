package shortschema_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/kinds/definitions"
	"kanon.dev/kanon/kinds/openapi"
	"kanon.dev/kanon/kinds/openapi/builtin"
	"kanon.dev/kanon/rules"
	"kanon.dev/kanon/rules/shortschema"
	"kanon.dev/kanon/rules/syntax"
)

// isJudged reports whether only the API server can find a problem, and the short form leaves it to it: what an expression that the author
// wrote says or costs, which fields a default may have, how names are written, how long a text may be, and all of OpenAPI that is written as it is.
func isJudged(p definitions.Problem, definition *unstructured.Unstructured, fields string) bool {
	if strings.Contains(fields, "openAPI") || strings.Contains(p.Message, "cost") {
		return true
	}
	if last := p.Path[len(p.Path)-1]; p.Path[0] == "metadata" || p.Path[1] == "names" || last == "name" || last == "deprecationWarning" {
		return true
	}
	at := slices.IndexFunc(p.Path, func(step string) bool { return step == "default" || step == "x-kubernetes-validations" })
	if at < 0 || p.Path[at] == "default" {
		return at >= 0
	}
	message, _ := valueAt(definition.Object, append(p.Path[:min(len(p.Path), at+2):at+2], "message")).(string)
	return !strings.Contains(message, "immutable") // which only Kanon writes here
}

// valueAt is what is at a path.
func valueAt(value any, path []string) any {
	for _, step := range path {
		switch of := value.(type) {
		case map[string]any:
			value = of[step]
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i >= len(of) {
				return nil
			}
			value = of[i]
		default:
			return nil
		}
	}
	return value
}

// TestPairs: what FuzzSchema holds, for each marker on each type, and on lists and maps of it.
func TestPairs(t *testing.T) {
	t.Parallel()
	taken := 0
	for _, typ := range shortschema.Types() {
		for _, of := range []string{typ.Name, "[]" + typ.Name, "map[string]" + typ.Name} {
			for _, m := range shortschema.Markers() {
				if checkFields(t, "f: '"+of+" | "+written(m)+"'") {
					taken++
				}
			}
		}
	}
	if taken < 650 {
		t.Errorf("%d pairs are taken", taken)
	}
}

// written is a marker with the value of its example.
func written(m shortschema.Marker) string {
	if m.Value == "" {
		return m.Name
	}
	return m.Name + "=" + m.Value
}

// FuzzSchema holds that the API server takes the definition of every schema that the short form takes, but for what only it can judge; and
// that whatever it refuses has a place in the rule.
func FuzzSchema(f *testing.F) {
	for _, t := range shortschema.Types() {
		f.Add("f: " + t.Name + "\ng: \"[]" + t.Name + "\"\nh: \"map[string]" + t.Name + "\"")
	}
	for _, typ := range []string{"string", "integer", "[]string", "map[string]Own", "[]Own", "object"} {
		for _, m := range shortschema.Markers() {
			f.Add("f: '" + typ + " | " + written(m) + "'")
		}
	}
	f.Add("a: {b: {c: string | required}}\nd: {e: integer | immutable}")
	f.Add("a: {openAPI: {type: array, items: {type: string}}}")
	f.Fuzz(func(t *testing.T, fields string) { checkFields(t, fields) })
}

// FuzzDrawnSchema holds the same for schemas that are drawn: own types, fields in fields, lists and maps of each other, markers
// with values that fit or do not, and what stands beside the fields: names, versions, validations, columns, scale, and the status, also as
// the rule sets it.
func FuzzDrawnSchema(f *testing.F) {
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // it draws tests
	for range 200 {
		seed := make([]byte, 120)
		for i := range seed {
			seed[i] = byte(random.UintN(256))
		}
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, choices []byte) {
		d := drawer{choices: choices}
		schema, status := d.kind(), d.ruleStatus()
		checkSchema(t, asText(t, schema), "status: "+asText(t, status))
	})
}

// drawer draws a schema by bytes.
type drawer struct {
	choices []byte
	// types are the own types that can be named.
	types []string
}

// choose takes the next choice of n.
func (d *drawer) choose(n int) int {
	if len(d.choices) == 0 {
		return 0
	}
	next := d.choices[0]
	d.choices = d.choices[1:]
	return int(next) % n
}

// one takes one of several values.
func one[T any](d *drawer, of ...T) T { return of[d.choose(len(of))] }

// mostly takes one of the first values, and seldom one of the others, which may be wrong.
func mostly[T any](d *drawer, good []T, others ...T) T {
	if d.choose(16) == 1 {
		return one(d, others...)
	}
	return one(d, good...)
}

// some sets a field half of the time.
func (d *drawer) some(to map[string]any, name string, value func() any) {
	if d.choose(2) == 1 {
		to[name] = value()
	}
}

// kind draws what spec.parent.schema has.
func (d *drawer) kind() map[string]any {
	kind := d.names()
	if d.choose(3) > 0 {
		maps.Copy(kind, d.version())
		return kind
	}
	var versions []any
	for i := range d.choose(3) + 1 {
		version := d.version()
		version["name"] = mostly(d, []string{[]string{"v1", "v2", "v1beta1"}[i]}, "v1", "v3", "x", "V1")
		version["stored"] = i == 0 || d.choose(16) == 1
		d.some(version, "served", func() any { return i == 0 || d.choose(2) == 0 })
		d.some(version, "deprecated", func() any { return mostly(d, []string{"use another"}, "", strings.Repeat("x", 300)) })
		versions = append(versions, version)
	}
	kind["versions"] = versions
	return kind
}

// names draws what is about all versions.
func (d *drawer) names() map[string]any {
	kind := map[string]any{}
	if d.choose(4) > 0 {
		return kind
	}
	texts := func() any {
		return mostly(d, [][]any{{"a"}, {"a", "b-c"}}, []any{}, []any{"a", "a"}, []any{"A b"}, []any{""})
	}
	d.some(kind, "scope", func() any { return one(d, "Cluster", "Namespaced") })
	d.some(kind, "plural", func() any { return mostly(d, []string{"things", "thingies"}, "Things", "a b", "") })
	d.some(kind, "singular", func() any { return mostly(d, []string{"thing", "things"}, "Thing", "") })
	d.some(kind, "shortNames", texts)
	d.some(kind, "categories", texts)
	d.some(kind, "description", func() any { return mostly(d, []string{"what it is"}, "") })
	return kind
}

// version draws what each version has.
func (d *drawer) version() map[string]any {
	types := map[string]any{}
	d.types = nil
	for i := range d.choose(4) {
		name, value := d.field(fmt.Sprintf("T%d", i), 2)
		types[name] = value
		d.types = append(d.types, fmt.Sprintf("T%d", i))
	}
	version := map[string]any{"types": types, "spec": d.fields(0)}
	if d.choose(16) == 1 {
		version["spec"] = map[string]any{"openAPI": map[string]any{"type": "object", "properties": map[string]any{"a": map[string]any{"type": "string"}}}}
	}
	d.some(version, "status", func() any { return d.fields(1) })
	d.some(version, "validations", func() any {
		return d.list(func(validation map[string]any) {
			validation["rule"] = mostly(d, []string{
				"true", "has(self.a)", "!has(self.a)", "self == oldSelf", "self.b == 1", "has(self.name) && self.name != 'x'", "self.metadata.name != 'x'",
				"oldSelf.hasValue()", "!has(self.spec)",
			}, "1", "", "self.")
			d.some(validation, "self", func() any { return one(d, "Object", "Spec") })
			d.some(validation, "message", func() any { return mostly(d, []string{"wrong"}, "", " ", "two\nlines") })
			d.some(validation, "messageExpression", func() any { return mostly(d, []string{"'wrong'", "string(self.a)"}, "1", "") })
			d.some(validation, "reason", func() any { return one(d, "FieldValueForbidden", "FieldValueRequired") })
			d.some(validation, "path", func() any { return mostly(d, []string{".a", ".b.name", ".spec.a", ".metadata.name"}, "a", "", ".a[0]") })
			d.some(validation, "optionalOldSelf", func() any { return one(d, true, false) })
		})
	})
	d.some(version, "columns", func() any {
		return d.list(func(column map[string]any) {
			column["name"], column["value"] = mostly(d, []string{"A", "B c"}, ""), d.path()
			d.some(column, "type", func() any { return one(d, "string", "integer", "number", "boolean", "date") })
			d.some(column, "format", func() any { return mostly(d, []string{"int32", "date-time", "password", "none"}, "") })
			d.some(column, "description", func() any { return mostly(d, []string{"what it is"}, "") })
			d.some(column, "priority", func() any { return mostly(d, []int{0, 1}, 1<<40, -1) })
		})
	})
	if d.choose(4) == 0 {
		scale := map[string]any{"specReplicas": d.path(), "statusReplicas": d.path()}
		d.some(scale, "labelSelector", func() any { return d.path() })
		version["scale"] = scale
	}
	return version
}

// list draws a list of mappings.
func (d *drawer) list(draw func(item map[string]any)) []any {
	items := make([]any, d.choose(3))
	for i := range items {
		item := map[string]any{}
		draw(item)
		items[i] = item
	}
	return items
}

// path draws where a column or a subresource has its value.
func (d *drawer) path() string {
	return mostly(d, []string{".spec.a", ".spec.a", ".spec.b", ".status.a", ".status.b", ".metadata.name", ".metadata.generation", ".metadata.creationTimestamp"},
		".spec.a.b", ".spec.a[0]", ".spec.b[*].name", ".spec.a-b", `.spec['a-b']`, ".status.conditions[?(@.type=='Ready')].status", ".spec", ".spec.1x", "spec.a", ".", "",
		".spec.a.", ".spec..a", ".spec.a[", "$.spec.a", "{.spec.a}")
}

// ruleStatus draws what the rule sets in the status.
func (d *drawer) ruleStatus() any {
	status := map[string]any{}
	for range d.choose(3) {
		status[one(d, "a", "b", "c")] = mostly[any](d, []any{
			"text", 1, true, 1.5, "${parent.metadata.name}", "${parent.metadata.generation}", "${parent.spec.a}", "${1.5}", "${[1, 2]}",
			"${{'a': 1}}", "a ${parent.metadata.name}",
			[]any{"a"},
			map[string]any{"b": "${1}"},
		}, nil, []any{}, map[string]any{}, "${quantity('1')}", "${fromJson('1')}", "${bytes('a')}", "${now}")
	}
	return status
}

// fields draws the fields of an object that is so deep.
func (d *drawer) fields(depth int) map[string]any {
	names := []string{"a", "a", "a", "b", "b", "name", "kind", "a-b", "1x", "metadata", "apiVersion", "namespace"}
	fields := map[string]any{}
	for range d.choose(3) + 1 {
		name, value := d.field(names[d.choose(len(names))], depth)
		fields[name] = value
	}
	return fields
}

func (d *drawer) field(name string, depth int) (written string, value any) {
	switch d.choose(4) {
	case 0:
		if depth < 3 {
			return name + d.markers("objects"), d.fields(depth + 1)
		}
	case 1:
		if d.choose(8) == 0 {
			return name + d.markers("OpenAPI"), map[string]any{"openAPI": map[string]any{"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string"}}, "required": []any{"name"}}}
		}
	}
	typ, of := d.typ()
	return name, typ + d.markers(of)
}

// typ draws a type, and what markers say that they are for if they are for it; empty: it is not known.
func (d *drawer) typ() (typ, of string) {
	for range d.choose(3) {
		step := d.choose(2)
		typ += []string{"[]", "map[string]"}[step]
		if of == "" {
			of = []string{"lists", "maps"}[step]
		}
	}
	if n := len(d.types); n > 0 && d.choose(2) == 0 {
		return typ + d.types[d.choose(n)], of
	}
	all := shortschema.Types()
	name := all[d.choose(len(all))].Name
	if of != "" {
		return typ + name, of
	}
	switch name {
	case "integer", "int32", "int64", "number", "float":
		of = "numbers"
	case "boolean":
		of = "booleans"
	case "object":
		of = "objects"
	case "any":
		of = "any value"
	default:
		of = "text"
	}
	return typ + name, of
}

// markers draws markers, most of which are for a type, and have a value of it.
func (d *drawer) markers(of string) string {
	values := []string{
		"", "1", "0", "-1", "1.5", "9999999999", "name", "a", "a,b", "name,name", "[]", "[1,2]", `["a"]`, "{}", `{"a": 1}`, "true", "false", "null", `""`, `"a b"`, "'a'",
		"int32", "date", "self", "2",
	}
	fitting := map[string]string{"text": "web", "numbers": "3", "booleans": "true", "lists": "[]", "maps": "{}", "objects": "{}"}
	all := shortschema.Markers()
	if of != "" && d.choose(16) != 1 {
		all = slices.DeleteFunc(all, func(m shortschema.Marker) bool { return !slices.Contains(m.For(), of) && m.For()[0] != "all" })
	}
	text, taken := "", map[string]bool{}
	for range d.choose(4) {
		m := all[d.choose(len(all))]
		isAlone := slices.Contains([]string{"message", "uniqueBy", "exclusiveMinimum", "exclusiveMaximum", "minProperties"}, m.Name)
		if (taken[m.Name] || isAlone) && d.choose(16) != 1 {
			continue
		}
		taken[m.Name] = true
		switch value := one(d, values...); {
		case d.choose(16) == 1:
			text += " " + m.Name + "=" + value
		case fitting[of] != "" && (m.Name == "default" || m.Name == "example"):
			text += " " + m.Name + "=" + fitting[of]
		case m.Name == "validation":
			text += ` validation="` + one(d, "self == self", "self != oldSelf", "true") + `" message="no"`
		default:
			text += " " + written(m)
		}
	}
	if text == "" {
		return ""
	}
	return " |" + text
}

// checkFields compares the short form of a spec with what the API server says of its definition. It is false if it is no short form.
func checkFields(t *testing.T, fields string) bool {
	t.Helper()
	return checkSchema(t, "types: {Own: {name: string | required, port: integer | required}}\nspec:\n  "+strings.ReplaceAll(fields, "\n", "\n  "))
}

// asText is a value in YAML, on one line.
func asText(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// checkSchema is checkFields for a whole schema. more are other fields of the rule.
func checkSchema(t *testing.T, schema string, more ...string) bool {
	t.Helper()
	text := `apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: example}
spec:
  parent:
    apiVersion: example.com/v1
    kind: Thing
    schema:
      ` + strings.ReplaceAll(schema, "\n", "\n      ") + "\n"
	for _, field := range more {
		text += "  " + field + "\n"
	}
	docs, findings := syntax.Decode("rule.yaml", []byte(text))
	findings = append(findings, rules.Inference{Schemas: builtin.Schemas{}}.Infer(&docs)...)
	if findings.HasErrors() || len(docs.CRDs) != 1 {
		return false
	}
	problems := definitions.Check(t.Context(), docs.CRDs[0])
	for _, p := range problems {
		found := docs.DefinitionFinding(0, syntax.DefinitionPlace{Path: p.Path, Name: p.Name, Offset: p.Offset}, p.Message)
		if found.Line < 8 {
			t.Errorf("%s: the finding is outside of the schema: %s", schema, found)
		}
		if !isJudged(p, docs.CRDs[0], schema) {
			t.Errorf("the API server refuses %s: %s: %s", schema, strings.Join(p.Path, "."), p.Message)
		}
	}
	if len(problems) > 0 {
		return true
	}
	if _, err := definitions.NewKinds([]*unstructured.Unstructured{docs.CRDs[0]}); err != nil {
		t.Errorf("%s: %v", schema, err)
	}
	if _, err := openapi.FromCRD(docs.CRDs[0]); err != nil {
		t.Errorf("%s: %v", schema, err)
	}
	return true
}
