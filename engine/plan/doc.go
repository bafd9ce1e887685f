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
//
// What each file does:
//
//	plan.go       makes a plan, and tells when it is outdated
//	parents.go    which parents a rule selects
//	children.go   the informers of children; which of them the rules share
//	kinds.go      kinds that the cluster has, lacks or lost
//	ownership.go  field managers, the finalizer, and which children an owner reference can tie
//	lookup.go     where a lookup reads
//	patch.go      where the targets of a patch are
//	tags.go       the index of children by their parent
package plan
