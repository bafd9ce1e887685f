// Package dependency is the graph of a compiled rule: which child needs which, because it reads it or because of dependsOn. It computes
// the order in which children are written. It reports cycles, and reads of what may not exist: a child or a lookup that a when,
// createWhen or optional may skip, read by a part that does not test for it.
//
//	graph := dependency.Graph{Reporter: reporter, Rule: rule, Program: p, Nodes: nodes, Readers: readers, …}
//	p.Order = graph.Order()
//	graph.CheckSkips(rest)
//
// Package flow knows what an expression reads, and whether a condition ensures that it exists.
package dependency
