package syntax

import "strings"

// meant is the field that stands for one of another engine, if Kanon has it, and a hint.
type meant struct{ target, hint string }

// foreignFields translates fields of other engines.
var foreignFields = map[string]meant{ //nolint:gochecknoglobals // a table
	"resources":         {"children", "the objects that a rule creates belong in spec.children"},
	"schema":            {"", "the schema of the parent's kind belongs in spec.parent.schema"},
	"sameAs":            {"", "write forEach: {sameAs: …}, with the id of the child whose items it has"},
	"includeWhen":       {"when", "write when"},
	"externalRef":       {"", "an object that the rule only reads belongs in spec.lookups, and is read as lookups.<id>"},
	"parentResource":    {"", "write parent, with the apiVersion and kind of the objects that the rule is for"},
	"childResources":    {"", "the objects that a rule creates belong in spec.children"},
	"attachments":       {"", "the objects that a rule creates belong in spec.children"},
	"composedTemplates": {"", "the objects that a rule creates belong in spec.children"},
	"hooks":             {"", "there are none: expressions in spec.children and spec.status say what the objects are"},
	"patches":           {"", readsParent},
	"fromFieldPath":     {"", readsParent},
	"readinessChecks":   {"", readsParent},
	"labelSelector":     {"selector", "write selector"},
	"resource":          {"template", "write template"},
	"object":            {"template", "write template"},
	"manifest":          {"template", "write template"},
	"base":              {"template", "write template"},
}

const readsParent = "the template reads the parent with expressions, such as ${parent.spec.x}, and readyWhen says when the object is ready"

// foreignSchemaFields is foreignFields for spec.parent.schema.
var foreignSchemaFields = map[string]meant{ //nolint:gochecknoglobals // a table
	"apiVersion": {"", "spec.parent names the kind: write apiVersion and kind there"},
	"kind":       {"", "spec.parent names the kind: write apiVersion and kind there"},
	"group":      {"", "spec.parent names the kind: write apiVersion and kind there"},
	"metadata": {"", "Kanon sets no labels and no annotations on the definition, and keeps those that others set, as with kubectl label; " +
		"for names of objects, write validations: [{self: Object, rule: size(self.metadata.name) <= 30}]"},
	"additionalPrinterColumns": {"", "write columns, a list of {name: …, value: .spec.…}"},
	"jsonPath":                 {"value", "write value"},
	"fieldPath":                {"path", "write path"},
	"subresources":             {"", "there is always a status; scale stands beside spec"},
	"storage":                  {"stored", "write stored"},
	"deprecationWarning":       {"deprecated", "write deprecated"},
	"openAPIV3Schema":          {"", "write the fields below spec; a schema of OpenAPI may stand there as {openAPI: …}"},
}

// foreignField translates a field of another engine. target is the field that is meant, if Kanon has it.
func foreignField(path, name string) (target, hint string) {
	if strings.HasPrefix(path, schemaPath) {
		m := foreignSchemaFields[name]
		return m.target, m.hint
	}
	m := foreignFields[name]
	if path == "spec" && m.hint == readsParent || (path == "" || path == "spec") && m.target == "template" {
		return "", ""
	}
	return m.target, m.hint
}
