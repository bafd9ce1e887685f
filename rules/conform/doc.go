// Package conform compares what a rule renders with the schema of the kind, field by field: unknown and missing fields, wrong types,
// formats and enums, items of a list that are there twice. What is written out is compared as it stands (written.go, list.go), and
// what an expression gives by its type (result.go). The paths of a child's ignore are compared in the same way (ignore.go), and so
// is what a rule reports on its parent (parent.go).
//
//	conform.Template{Compiler: c, Table: table, Source: source}.Check(node, "Deployment", schema)
//
// What the type of an expression is, and why it does not fit a field, is package check's.
package conform
