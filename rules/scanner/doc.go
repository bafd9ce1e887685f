// Package scanner finds the expressions ${…} in the text of a scalar. It knows so much of CEL that a brace in a string, or in a map,
// does not end an expression, and reports what is not closed.
//
//	parts, err := scanner.Scan("web-${parent.metadata.name}")
//	whole, ok := scanner.Whole(parts) // one expression and nothing around it
//
// What an expression means is package check's.
package scanner
