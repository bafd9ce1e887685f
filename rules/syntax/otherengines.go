package syntax

import "strings"

// foreignField translates a field of another engine. target is the field that is meant, if Kanon has it.
func foreignField(path, name string) (target, hint string) {
	if strings.HasPrefix(path, schemaPath) {
		return foreignSchemaField(name)
	}
	switch name {
	case "resources":
		return "children", "the objects that a rule creates belong in spec.children"
	case "schema":
		return "", "the schema of the parent's kind belongs in spec.parent.schema"
	case "sameAs":
		return "", "write forEach: {sameAs: …}, with the id of the child whose items it has"
	case "includeWhen":
		return "when", "write when"
	case "externalRef":
		return "", "an object that the rule only reads belongs in spec.lookups, and is read as lookups.<id>"
	case "parentResource":
		return "", "write parent, with the apiVersion and kind of the objects that the rule is for"
	case "childResources", "attachments", "composedTemplates":
		return "", "the objects that a rule creates belong in spec.children"
	case "hooks":
		return "", "there are none: expressions in spec.children and spec.status say what the objects are"
	case "patches", "fromFieldPath", "readinessChecks":
		if path != "spec" {
			return "", "the template reads the parent with expressions, such as ${parent.spec.x}, and readyWhen says when the object is ready"
		}
	case "labelSelector":
		return "selector", "write selector"
	case "resource", "object", "manifest", "base":
		if path != "" && path != "spec" {
			return "template", "write template"
		}
	}
	return "", ""
}

// foreignSchemaField is foreignField for spec.parent.schema.
func foreignSchemaField(name string) (target, hint string) {
	switch name {
	case "apiVersion", "kind", "group":
		return "", "spec.parent names the kind: write apiVersion and kind there"
	case "metadata":
		return "", "Kanon sets no labels and no annotations on the definition, and keeps those that others set, as with kubectl label; " +
			"for names of objects, write validations: [{self: Object, rule: size(self.metadata.name) <= 30}]"
	case "additionalPrinterColumns":
		return "", "write columns, a list of {name: …, value: .spec.…}"
	case "jsonPath":
		return "value", "write value"
	case "fieldPath":
		return "path", "write path"
	case "subresources":
		return "", "there is always a status; scale stands beside spec"
	case "storage":
		return "stored", "write stored"
	case "deprecationWarning":
		return "deprecated", "write deprecated"
	case "openAPIV3Schema":
		return "", "write the fields below spec; a schema of OpenAPI may stand there as {openAPI: …}"
	}
	return "", ""
}
