// Package check finds mistakes in a rule with the schemas of its kinds: the types of expressions, and the fields of templates.
//
// A Parser parses expressions and runs CEL's own checker on them; reporter.go puts CEL's messages into plain words. Check then
// finds the types in an expression by schema, such as that of parent.spec.replicas. It reports what CEL cannot see: fields
// that do not exist, fields that may be missing, operands of incompatible types, comparisons that are always false.
//
//	x := check.Check(check.Input{Expr: expr, Table: check.NewTable(), Names: names, Report: report, ...})
//	x.Type          // an int, a list, an object with a schema
//	x.Exist         // the paths that exist if the expression is true
//	x.Conversions   // text that the expression reads as a time
//
// A TemplateCheck compares a template with the schema of its kind, and Refused finds what the API server refuses though
// no schema says so. A Reporter collects the findings of one rule.
//
// Of expressions:
//
//   - expression.go: which type does each part have?
//   - type.go (Table): which type does the value of a field have in an expression? Can two values be equal?
//   - structure.go: which fields does a value have?
//   - presence.go: may a field be missing that is read? Is a condition always true, or always false?
//   - wording.go: does a field take a value, and if not, how is the value converted?
//   - messages.go has the other texts; hints, and fixes by them
//
// Of templates:
//
//   - template.go compares mappings and lists, and result.go scalars and the values of expressions.
//   - names.go checks names, labels and the paths of a child's ignore.
//   - objects.go: what does the API server refuse whatever expressions give?
package check
