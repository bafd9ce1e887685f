// Package ruleschema describes rules for other programs: as a JSON Schema for editors, and as the schema in the
// CustomResourceDefinition of Rule objects. Both are made from package language, which the decoder uses as well.
//
//	os.Stdout.Write(ruleschema.JSON())
//	fmt.Println(ruleschema.Modeline("rule.schema.json")) // # yaml-language-server: $schema=rule.schema.json
//	crd, err := ruleschema.Define(crd)                   // deploy/base/crd.yaml, with the schema of spec
//
// Both accept every rule that the decoder accepts. They leave to it what a schema cannot express: which ids exist, and
// the types of expressions. The definition also leaves to it which forms a field can have, as a Kubernetes schema has
// one type per field.
//
// editor.go makes the JSON Schema, definition.go the schema of the definition, and object.go writes JSON objects in the
// order of their members.
package ruleschema
