// Package scanner finds the expressions ${…} in the text of a scalar. It knows enough of CEL that a brace in a string
// or a map does not end an expression, and reports expressions that are not closed.
//
//	parts, err := scanner.Scan("web-${parent.metadata.name}")
//	whole, ok := scanner.Whole(parts) // one expression and nothing around it
//
// Package check parses the expressions.
package scanner
