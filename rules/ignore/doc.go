// Package ignore reads the paths of a child's ignore: the fields that Kanon sets when it creates an object, and leaves to others from
// then on.
//
//	parsed, err := ignore.Parse("spec.template.spec.containers[name=web].image")
//	parsed.Steps.String()
//
// Whether the schema of a kind has the field is package conform's.
package ignore
