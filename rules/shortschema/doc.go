// Package shortschema reads the short form in which a rule writes the schema of its parent's kind, and makes the OpenAPI schema of it
// that a CustomResourceDefinition has:
//
//	replicas: integer | default=1 minimum=0        # how many Pods run
//	ports: "[]Port | minItems=1 uniqueBy=name"
//	tier: {openAPI: {type: string, maxLength: 9}}  # as it is
//
// A field is a type, and behind | the markers that narrow or explain it. A mapping is an object with the fields in it. The
// types of the kind's own, such as Port, are resolved where they are used, because a structural schema has no references. A
// comment describes a field that has no description.
//
// The form is that of kro's SimpleSchema (https://kro.run/api/specifications/simple-schema) where that has one, so its types and
// markers mean here what they mean there:
//
//	r := shortschema.NewReader(source, types, report)
//	schema := r.Object(node, "spec", "versions", "0", "schema", "openAPIV3Schema", "properties", "spec")
//
// The path says where the schema will be in the definition. So a problem that the API server's validation finds there is
// reported where the rule has what it is about: [Reader.Place].
//
// scan.go splits the text of a field. reader.go makes the schema of it: types.go and owntypes.go have the types, markers.go the
// markers, one row for each, named.go those behind a mapping's name, settings.go what they set in a schema, and whole.go, immutable.go
// and defaults.go what only the field as a whole tells. comma.go is about a text that YAML ends at a comma. status.go completes the
// status from what a rule sets there. definition.go and versions.go make a CustomResourceDefinition of the schemas of all versions.
//
// The package knows neither rules nor clusters, and checks no more than the form: whether a default fits its schema, or what an
// expression costs, is for package definitions to say.
package shortschema
