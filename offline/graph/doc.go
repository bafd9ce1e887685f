// Package graph makes the graph of a rule: its parent, lookups, children, patches and status, and which of them needs
// which.
//
//	g, err := graph.Of(rule)         // a *syntax.Rule without errors
//	err = g.Write(os.Stdout, graph.Mermaid)
//
// rule.go makes the graph from the reads of expressions, and facts.go the lists beside it. text.go writes it for
// people, dot.go for Graphviz and Mermaid, and svg.go as a picture. layout.go places the nodes of the picture: each
// node is to the right of those that it needs.
package graph
