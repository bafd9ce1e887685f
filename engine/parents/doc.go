// Package parents remembers what a rule has to know about a parent between two reconciles and cannot read from the cluster.
//
// Everything about one parent stands in one [State], so it is forgotten in one place:
//
//	store.Update(key, func(s *parents.State) { s.HasFinalizer = true })
//	...
//	store.Forget(key) // the parent is gone, or the rule no longer selects it
//
// The target of a patch has a State, too: who enqueues it, and which of its fields others take back. What is behind a pointer of
// a State is read and changed within Update only, apart from the [Memory] of a parent, which the worker that has its key uses.
//
// Losing a State costs an evaluation or a second Event, and nothing else: a restart loses all of them.
package parents
