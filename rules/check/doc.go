// Package check finds the types of expressions, with the schemas of the kinds that they read.
//
// A Parser parses expressions and runs CEL's own checker on them; cel.go puts CEL's messages into plain words.
// Check then finds the types in an expression by schema, such as that of parent.spec.replicas. It reports what CEL
// cannot see: fields that do not exist, fields that may be missing, operands of incompatible types, comparisons that
// are always false.
//
//	table := check.NewTable()
//	x := check.Check(check.Input{Expr: expr, Table: table, Names: names, Report: report, ...})
//	x.Type          // an int, a list, an object with a schema
//	x.Exist         // the paths that exist if the expression is true
//	x.Conversions   // text that the expression reads as a time
//
// Each question about types is answered in one place:
//
//   - relation.go: can two values be equal, and does a function take a value?
//   - misfit.go: does a field take a value, and if not, how is the value converted?
//   - type.go (Table): which type does the value of a field have in an expression?
//
// messages.go and wording.go have the texts. The package does not know the compiler. Of the program it knows only the
// reads whose values are converted from JSON (Conversions, Encoded). Package conform compares what a template renders
// with its schema.
package check
