// Package check finds the types of expressions, with the schemas of the kinds that they read.
//
// A Parser parses expressions and has CEL check them, with CEL's messages in plain words (cel.go).
// Check then finds the types in an expression. It knows what
// parent.spec.replicas is, and reports what CEL cannot see: fields that do not exist, fields that
// may be missing, operands that do not go together, comparisons that are always false.
//
//	table := check.NewTable()
//	x := check.Check(check.Input{Expr: expr, Table: table, Names: names, Report: report, ...})
//	x.Type          // an int, a list, an object with a schema
//	x.Exist         // the paths that exist if the expression is true
//	x.Conversions   // text that the expression reads as a time
//
// Three questions are asked of types, and each has one answer. Can two values be equal, and does a
// function take a value: relation.go. Does a field take a value, and if not, how is it converted:
// misfit.go. What does the value of a field count as in an expression: Table, in type.go.
//
// The package knows nothing of the compiler, and of the program only which reads mean something
// else than JSON has. messages.go and wording.go have the texts. What a template gives is compared with its schema by
// package conform.
package check
