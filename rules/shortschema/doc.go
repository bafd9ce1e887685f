// Package shortschema translates the short form, in which a rule writes the schema of its parent's kind, to the OpenAPI
// schema in a CustomResourceDefinition:
//
//	replicas: integer | default=1 minimum=0        # how many Pods run
//	ports: "[]Port | minItems=1 uniqueBy=name"
//	tier: {openAPI: {type: string, maxLength: 9}}  # as it is
//
// A field is a type, followed by | and the markers that narrow or explain it. A mapping is an object with the fields in
// it. The kind's own types, such as Port, are resolved where they are used, because a structural schema has no
// references. A comment describes a field that has no description.
//
// Types and markers that kro's SimpleSchema (https://kro.run/api/specifications/simple-schema) has mean the same here:
//
//	r := shortschema.NewReader(source, types, report)
//	schema := r.Object(node, "spec", "versions", "0", "schema", "openAPIV3Schema", "properties", "spec")
//
// The path is the place of the schema in the definition. With it, [Reader.Place] finds the line of the rule for a
// problem that the API server's validation finds in the definition.
//
//   - scan.go splits the text of a field.
//   - reader.go makes the schema of a field, and made.go is that schema while it is built. types.go has the types.
//   - markers.go has the markers, one row for each, and applies them. named.go reads those behind the name of a mapping,
//     and settings.go has what they set in a schema.
//   - whole.go, immutable.go and defaults.go check or complete a field after all of its markers are known.
//   - openapi.go reads schemas that are written as OpenAPI.
//   - status.go completes the status by what a rule sets there.
//   - definition.go, path.go and versions.go make a CustomResourceDefinition of the schemas of all versions.
//   - places.go maps paths of the definition to positions in the rule.
//
// The package does not know rules or clusters. Package definitions checks the result as the API server does, such as
// the cost of an expression.
package shortschema
