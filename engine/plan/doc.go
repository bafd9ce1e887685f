// Package plan determines where in the cluster the objects of a compiled rule are, and how each of its nodes is
// treated.
//
//	p, err := plan.New(id, name, program, mapper, previous)
//	for _, informer := range p.Informers() { ... }      // everything that the rule reads
//	kind := p.Nodes["deployment"]                       // where the objects of a node are
//	if p.Selects(parent, namespaceLabels) == plan.Selected { ... }
//
// A plan belongs to one revision of a rule and to the kinds that the cluster had when it was made. [Plan.IsOutdated]
// reports when a new one is needed. A plan does not change once it is in use. The package reads and writes nothing.
package plan
