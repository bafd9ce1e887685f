package ruleschema

import (
	"kanon.dev/kanon/rules/language"
)

// expression is the pattern of a string with an expression.
const expression = `\$\{`

// JSON is the JSON Schema of a file with rules, in draft 7, which editors support best. Documents of other kinds that
// can be in such a file are not checked.
func JSON() []byte {
	return object{
		{"$schema", "http://json-schema.org/draft-07/schema#"},
		{"title", "Rule of Kanon (" + language.APIVersion + ")"},
		{"if", object{
			{"type", "object"},
			{"required", []string{"kind"}},
			{"properties", object{{"kind", object{{"enum", []string{"CustomResourceDefinition", "RuleTest"}}}}}},
		}},
		{"else", editorType(language.Document())},
	}.text()
}

// Path is where kanon init writes the schema. The directory is hidden because kubectl apply -f would take the file for
// an object.
const Path = ".kanon/rule.schema.json"

// Modeline is the comment by which a YAML file names its schema, for editors with yaml-language-server.
func Modeline(schema string) string { return "# yaml-language-server: $schema=" + schema }

// editorType is the JSON Schema of a type.
func editorType(t *language.Type) object {
	alternatives := editorForms(t)
	if len(alternatives) == 1 {
		return alternatives[0]
	}
	return object{{"anyOf", alternatives}}
}

// editorForms lists the alternative schemas of a type.
func editorForms(t *language.Type) []object {
	var all []object
	for _, form := range t.Forms() {
		all = append(all, editorForm(form)...)
	}
	return all
}

func editorForm(t *language.Type) []object {
	switch t.Form {
	case language.Boolean:
		return []object{{{"type", "boolean"}}}
	case language.Number:
		return []object{{{"type", "integer"}, {"minimum", t.Least}}}
	case language.Mapping:
		return []object{editorMapping(t.Fields)}
	case language.Texts:
		return []object{{{"type", "object"}, {"additionalProperties", object{{"type", "string"}}}}}
	case language.List:
		return []object{{{"type", "array"}, {"items", editorType(t.Items)}}}
	case language.Object, language.ShortSchema:
		return []object{{{"type", "object"}}}
	case language.Anything:
		return []object{{}}
	default:
		return editorText(t)
	}
}

func editorMapping(fields language.Fields) object {
	var properties object
	for _, field := range fields {
		// Visual Studio Code and yaml-language-server prefer markdownDescription.
		property := object{{"description", field.Description()}, {"markdownDescription", field.Description()}}
		properties = append(properties, member{field.Name, append(property, editorType(&field.Type)...)})
	}
	schema := object{{"type", "object"}, {"properties", properties}, {"additionalProperties", false}}
	if needed := required(fields); len(needed) > 0 {
		schema = append(schema, member{"required", needed})
	}
	return schema
}

func required(fields language.Fields) []string {
	var names []string
	for _, field := range fields {
		if field.Required {
			names = append(names, field.Name)
		}
	}
	return names
}

func editorText(t *language.Type) []object {
	var all []object
	switch {
	case t.Expressions == language.Required:
	case len(t.Words) > 0:
		all = append(all, object{{"type", "string"}, {"enum", t.Words}})
	case t.Pattern != "":
		all = append(all, object{{"type", "string"}, {"pattern", t.Pattern}})
	default:
		return []object{{{"type", "string"}}}
	}
	if t.Expressions != language.None {
		all = append(all, object{{"type", "string"}, {"pattern", expression}})
	}
	return all
}
