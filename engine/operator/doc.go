// Package operator has the rules that run. An Operator is a rule with its plan on this cluster and its progress in
// starting. A Set is an immutable snapshot of all of them. Running has the newest Set, which handlers and workers read
// without a lock:
//
//	op, err := operator.New(id, name, program, mapper, previous)
//	...
//	running.Store(operator.NewSet(ops))
//
//	for _, op := range running.Load().ByKey[event.Key] { // the operators that need this informer
//		...
//	}
//	op := running.Get(key.Rule) // nil if the rule does not run
//
// Work for an Operator may end after the Operator was replaced. What is stored by the rule's id then belongs to its
// successor. [Running.IsCurrent] tells the two apart.
package operator
