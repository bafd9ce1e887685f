package language

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"go.yaml.in/yaml/v3"
)

// JSONSchemaPath is where kanon init writes the schema. The directory is hidden because kubectl apply -f would take the file for
// an object.
const JSONSchemaPath = ".kanon/rule.schema.json"

// Modeline is the comment by which a YAML file names its schema, for editors with yaml-language-server.
func Modeline(schema string) string { return "# yaml-language-server: $schema=" + schema }

// JSONSchema is the JSON Schema of a file with rules, in draft 7, which editors support best. Documents of other kinds that
// can be in such a file are not checked.
func JSONSchema() []byte {
	kind := schema{"enum": []string{"CustomResourceDefinition", "RuleTest"}}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // keeps <id> readable
	enc.SetIndent("", "  ")
	if err := enc.Encode(schema{
		"$schema": "http://json-schema.org/draft-07/schema#",
		"title":   "Rule of Kanon (" + APIVersion + ")",
		"if":      schema{"type": "object", "required": []string{"kind"}, "properties": schema{"kind": kind}},
		"else":    writer{}.of(Document()),
	}); err != nil {
		panic(err) // there is nothing in it that JSON cannot have
	}
	return b.Bytes()
}

// errNoSpec reports that a text is not the definition of Rule objects.
var errNoSpec = errors.New("there is no spec.versions[0].schema.openAPIV3Schema.properties.spec")

// Define writes the schema of a rule's spec into the CustomResourceDefinition of Rule objects. The rest of the text
// stays, including comments.
func Define(crd []byte) ([]byte, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(crd, &document); err != nil {
		return nil, fmt.Errorf("read the CustomResourceDefinition: %w", err)
	}
	place := find(&document, "spec", "versions", "", "schema", "openAPIV3Schema", "properties", "spec")
	if place == nil {
		return nil, errNoSpec
	}
	if err := place.Encode(writer{structural: true}.field(Document().Fields.Field("spec"))); err != nil {
		return nil, fmt.Errorf("write the schema: %w", err)
	}
	var out bytes.Buffer
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	if err := enc.Encode(&document); err != nil {
		return nil, fmt.Errorf("write the CustomResourceDefinition: %w", err)
	}
	return out.Bytes(), enc.Close()
}

// find is the node at a path of field names. An empty name stands for the only item of a list or of a document.
func find(n *yaml.Node, path ...string) *yaml.Node {
	switch {
	case n.Kind == yaml.DocumentNode:
		return find(n.Content[0], path...)
	case len(path) == 0:
		return n
	case n.Kind == yaml.SequenceNode && path[0] == "" && len(n.Content) > 0:
		return find(n.Content[0], path[1:]...)
	case n.Kind == yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == path[0] {
				return find(n.Content[i+1], path[1:]...)
			}
		}
	}
	return nil
}

// schema is a JSON Schema.
type schema map[string]any

// preserve makes the API server keep unknown fields.
const preserve = "x-kubernetes-preserve-unknown-fields"

// writer writes the JSON Schemas of types: for editors, or structural ones for the API server.
//
// In a structural schema, a field has at most one type. A field that can be a mapping or something else has no type.
// kubectl explain still shows the fields of the mapping, and the API server checks their values, but only Kanon reports
// misspelt names.
type writer struct{ structural bool }

// field is the schema of a field, with its description.
func (w writer) field(f *Field) schema {
	s := w.of(&f.Type)
	s["description"] = f.Description()
	if !w.structural { // Visual Studio Code and yaml-language-server prefer markdownDescription
		s["markdownDescription"] = f.Description()
	}
	return s
}

func (w writer) of(t *Type) schema {
	var all []schema
	for _, form := range t.Forms() {
		all = append(all, w.form(form)...)
	}
	switch {
	case len(all) == 1:
		return all[0]
	case !w.structural:
		return schema{"anyOf": all}
	case t.Or == nil: // schemas below anyOf must not have a type
		for _, s := range all {
			delete(s, "type")
		}
		return schema{"type": "string", "anyOf": all}
	case t.Form == Number:
		return schema{"x-kubernetes-int-or-string": true}
	}
	open := schema{preserve: true}
	for _, s := range all {
		for _, below := range []string{"properties", "items"} {
			if s[below] != nil {
				open[below] = s[below]
			}
		}
	}
	return open
}

// form lists the schemas of one form of a type. A text can be one of certain words, or an expression.
func (w writer) form(t *Type) []schema {
	s := schema{}
	switch t.Form {
	case Boolean:
		s["type"] = "boolean"
	case Number:
		s["type"], s["minimum"] = "integer", t.Least
		if w.structural {
			s["format"] = "int64"
		}
	case Mapping:
		s = w.mapping(t.Fields)
	case Texts:
		s["type"], s["additionalProperties"] = "object", schema{"type": "string"}
	case List:
		s["type"], s["items"] = "array", w.of(t.Items)
	case Object, ShortSchema:
		s["type"] = "object"
	case Anything:
	default:
		return texts(t)
	}
	if w.structural && (t.Form == Object || t.Form == ShortSchema || t.Form == Anything) {
		s[preserve] = true
	}
	return []schema{s}
}

func (w writer) mapping(fields Fields) schema {
	properties, needed := schema{}, []string(nil)
	for i := range fields {
		properties[fields[i].Name] = w.field(&fields[i])
		if fields[i].Required {
			needed = append(needed, fields[i].Name)
		}
	}
	s := schema{"type": "object", "properties": properties}
	if needed != nil {
		s["required"] = needed
	}
	if !w.structural {
		s["additionalProperties"] = false
	}
	return s
}

func texts(t *Type) (all []schema) {
	text := func(more schema) {
		s := schema{"type": "string"}
		maps.Copy(s, more)
		all = append(all, s)
	}
	switch {
	case t.Expressions == Required:
	case len(t.Words) > 0:
		text(schema{"enum": t.Words})
	case t.Pattern != "":
		text(schema{"pattern": t.Pattern})
	default:
		text(nil)
		return all
	}
	if t.Expressions != None {
		text(schema{"pattern": `\$\{`})
	}
	return all
}
