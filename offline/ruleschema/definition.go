package ruleschema

import (
	"bytes"
	"errors"
	"fmt"

	"go.yaml.in/yaml/v3"

	"kanon.dev/kanon/rules/language"
)

// errNoSpec reports that a text is not the definition of Rule objects.
var errNoSpec = errors.New("there is no spec.versions[0].schema.openAPIV3Schema.properties.spec")

// Define writes the schema of a rule's spec into the CustomResourceDefinition of Rule objects. The rest of the text
// stays, including comments.
func Define(crd []byte) ([]byte, error) {
	var document, schema yaml.Node
	if err := yaml.Unmarshal(crd, &document); err != nil {
		return nil, fmt.Errorf("read the CustomResourceDefinition: %w", err)
	}
	spec := language.Document().Fields.Field("spec")
	// JSON is YAML, and parsing it as a node keeps the order.
	if err := yaml.Unmarshal(structuralField(spec).text(), &schema); err != nil {
		return nil, fmt.Errorf("read the schema: %w", err)
	}
	place := find(&document, "spec", "versions", "", "schema", "openAPIV3Schema", "properties", "spec")
	if place == nil {
		return nil, errNoSpec
	}
	*place = *schema.Content[0]
	layOut(place)
	var out bytes.Buffer
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	if err := enc.Encode(&document); err != nil {
		return nil, fmt.Errorf("write the CustomResourceDefinition: %w", err)
	}
	return out.Bytes(), enc.Close()
}

// find is the node at a path of field names. An empty name stands for the first item of a list.
func find(n *yaml.Node, path ...string) *yaml.Node {
	if n.Kind == yaml.DocumentNode {
		n = n.Content[0]
	}
	if len(path) == 0 {
		return n
	}
	switch {
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

// layOut changes JSON style to block style. Lists of scalars and mappings with one field stay on one line.
func layOut(n *yaml.Node) {
	n.Style = 0
	small := len(n.Content) > 0
	for _, c := range n.Content {
		layOut(c)
		small = small && c.Kind == yaml.ScalarNode
	}
	if small && (n.Kind == yaml.SequenceNode || len(n.Content) == 2) {
		n.Style = yaml.FlowStyle
	}
}

// structuralField is the schema of a field with its description.
func structuralField(f *language.Field) object {
	return append(object{{"description", f.Description()}}, structural(f.Type.Forms())...)
}

// structural is a structural schema, in which a field has at most one type. A field that can be a mapping or something
// else has no type. kubectl explain still shows the fields of the mapping, and the API server checks their values, but
// only Kanon reports misspelt names.
func structural(forms []*language.Type) object {
	first := forms[0]
	if len(forms) == 1 {
		return structuralForm(first)
	}
	if isPercentage(forms) {
		return object{{"x-kubernetes-int-or-string", true}}
	}
	open := object{{preserve, true}}
	for _, form := range forms {
		switch form.Form {
		case language.Mapping:
			open = append(open, member{"properties", structuralProperties(form.Fields)})
		case language.List:
			open = append(open, member{"items", structural(form.Items.Forms())})
		}
	}
	return open
}

// preserve makes the API server keep unknown fields.
const preserve = "x-kubernetes-preserve-unknown-fields"

// isPercentage reports whether a value is a number or a string.
func isPercentage(forms []*language.Type) bool {
	return len(forms) == 2 && forms[0].Form == language.Number && forms[1].Form == language.Text
}

func structuralForm(t *language.Type) object {
	switch t.Form {
	case language.Boolean:
		return object{{"type", "boolean"}}
	case language.Number:
		return object{{"type", "integer"}, {"format", "int64"}, {"minimum", t.Least}}
	case language.Mapping:
		schema := object{{"type", "object"}, {"properties", structuralProperties(t.Fields)}}
		if needed := required(t.Fields); len(needed) > 0 {
			schema = append(schema, member{"required", needed})
		}
		return schema
	case language.Texts:
		return object{{"type", "object"}, {"additionalProperties", object{{"type", "string"}}}}
	case language.List:
		return object{{"type", "array"}, {"items", structural(t.Items.Forms())}}
	case language.Object, language.ShortSchema:
		return object{{"type", "object"}, {preserve, true}}
	case language.Anything:
		return object{{preserve, true}}
	default:
		return structuralText(t)
	}
}

func structuralProperties(fields language.Fields) object {
	var all object
	for i := range fields {
		all = append(all, member{fields[i].Name, structuralField(&fields[i])})
	}
	return all
}

// structuralText is the schema of a string. Schemas below anyOf must not have a type.
func structuralText(t *language.Type) object {
	schema := object{{"type", "string"}}
	forms := editorText(t)
	if len(forms) == 1 {
		return append(schema, forms[0][1:]...)
	}
	var alternatives []object
	for _, form := range forms {
		alternatives = append(alternatives, form[1:])
	}
	return append(schema, member{"anyOf", alternatives})
}
