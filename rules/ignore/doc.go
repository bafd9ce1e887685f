// Package ignore reads the paths of a child's ignore: the fields that Kanon sets when it creates an object, and leaves to others from
// then on.
//
//	parsed, err := ignore.Parse("spec.template.spec.containers[name=web].image")
//	parsed.Steps.String()
//
// Package conform checks whether the schema of a kind has the field.
package ignore
