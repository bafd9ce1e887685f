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
//   - scan.go splits the text of a field, and reads the markers behind the name of a mapping.
//   - reader.go makes the schema of a field. types.go has the types, and reads schemas that are written as OpenAPI.
//   - made.go is a schema while it is built; it checks and completes a field after all of its markers are known.
//   - markers.go has the markers, one row for each, and what they set in a schema.
//   - status.go has immutable fields, and completes the status by what a rule sets there.
//   - definition.go makes a CustomResourceDefinition of the schemas of all versions, and maps its paths to positions in
//     the rule. path.go follows the paths of columns.
//
// The package does not know rules or clusters. Package definitions checks the result as the API server does, such as
// the cost of an expression.
package shortschema
