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
// Each question is answered in one place:
//
//   - parser.go: is the text an expression, and does CEL accept it?
//   - expression.go: which type does each part of an expression have? calls.go has the functions and operators.
//   - relation.go: can two values be equal, and does a function take a value?
//   - misfit.go: does a field take a value, and if not, how is the value converted?
//   - type.go (Table): which type does the value of a field have in an expression?
//   - presence.go: may a field be missing that the expression reads?
//   - truth.go: is a condition always true, or always false?
//   - reads.go: which fields does the expression read? structure.go: which fields does its value have?
//   - fix.go: which text replaces a mistake?
//
// messages.go and wording.go have the texts. The package does not know the compiler. Of package celenv/run it knows only
// the reads whose values are converted from JSON (Conversions, Encoded), and how a constant expression is evaluated.
// Package conform compares what a template renders with its schema.
package check
