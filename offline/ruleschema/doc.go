// Package ruleschema describes rules to other programs: as a JSON Schema for editors, and as the
// schema in the CustomResourceDefinition of Rule objects. Both are made of package language,
// which the decoder reads as well.
//
//	os.Stdout.Write(ruleschema.JSON())
//	fmt.Println(ruleschema.Modeline("rule.schema.json")) // # yaml-language-server: $schema=rule.schema.json
//	crd, err := ruleschema.Define(crd)                   // deploy/base/crd.yaml, with the schema of spec
//
// Both accept every rule that the decoder accepts. What a schema cannot say they leave to it:
// which ids exist, what an expression gives, and in the definition also what a field may
// be that has several forms, since a schema of Kubernetes has one type for each field.
//
// editor.go has the JSON Schema, definition.go the schema of the definition, and object.go
// mappings that keep the order of their fields.
package ruleschema
