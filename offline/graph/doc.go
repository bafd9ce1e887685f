// Package graph has the graph of a rule: what it is for, what it reads, what it creates and patches, and which part needs which.
//
//	g, err := graph.Of(rule)         // a *syntax.Rule without errors
//	err = g.Write(os.Stdout, graph.Mermaid)
//
// rule.go makes the graph of a rule, from what its expressions read, and facts.go what stands beside it. Writers: text.go for people, dot.go
// for Graphviz and Mermaid, svg.go for a picture with
// a layout of its own (layout.go): each node stands right of those that it needs.
package graph
