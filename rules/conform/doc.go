// Package conform compares templates with the schema of their kind, field by field. It reports unknown and missing
// fields, wrong types, formats and enums, and duplicate items of a list.
//
//	conform.Template{Compiler: c, Table: table, Source: source}.Check(node, "Deployment", schema)
//
// Package check knows the type of an expression, and why it does not fit a field.
//
//   - template.go compares mappings, list.go lists, and written.go scalars without expressions.
//   - result.go compares the values of expressions, by their types.
//   - ignore.go and ignoring.go check the paths of a child's ignore.
//   - parent.go checks the status and conditions that a rule reports on its parent.
package conform
