// Package operator has the rules that run. An Operator is a rule with its plan on this cluster, and how far it has started. A Set
// is all of them, an immutable snapshot; Running has the newest one, which handlers and workers read without a lock:
//
//	op, err := operator.New(id, name, program, mapper, previous)
//	...
//	running.Store(operator.NewSet(ops))
//
//	for _, op := range running.Load().ByKey[event.Key] { // those that need this informer
//		...
//	}
//	op := running.Get(key.Rule) // nil if the rule does not run
//
// Who began something for an Operator that was replaced meanwhile may be late: what is kept by the rule's id is another's then.
// [Running.IsCurrent] tells.
package operator
