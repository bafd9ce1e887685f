// Package parents stores what a rule has to remember about a parent between two reconciles and cannot read from the
// cluster.
//
// Everything about one parent is in one [State], so it is forgotten in one place:
//
//	store.Update(key, func(s *parents.State) { s.HasFinalizer = true })
//	...
//	store.Forget(key) // the parent no longer exists, or the rule no longer selects it
//
// The target of a patch has a State, too: what enqueues it, and which of its fields others change back. What a State
// points to is read and changed only within Update, except for the [Memory] of a parent, which belongs to the worker
// that has the parent's key.
//
// A restart loses all States. Usually that costs an evaluation or a second Event. Two losses matter: Kanon may treat a
// foreground or an orphaning deletion under way as a background deletion, and the rule's status fields may stay on a
// parent without children that no longer matches the selector.
//
// What each file does:
//
//	store.go       the states of all parents
//	memory.go      what a worker remembers of its parent for one revision of the rule
//	conditions.go  how many parents of a rule are ready, and why others are not
//	denials.go     parents that wait for a right
package parents
