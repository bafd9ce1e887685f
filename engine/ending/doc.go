// Package ending decides which children go, which are kept, and in which order.
//
// A child goes when its rule no longer renders it (it is pruned), or when its parent is deleted and no owner reference lets
// the garbage collector delete it. Its deletionPolicy can keep it: if that needs no expression, the rule that runs now
// decides; else it is what was decided when the child was last written, which its mark records.
//
//	policies := ending.Policies{ByNode: plan.Deletions}
//	for _, child := range ending.InOrder(unrendered, plan.Ordered, isDeleting) {
//		if policies.KeepsPruned(child) { ... } // orphan it, else delete it
//	}
//
// A parent that is being deleted waits for its children by the order of [Dependents] if its rule finalizes. Else it waits as
// Kubernetes does ([Awaited]): in the background until each is being deleted, in the foreground until each is gone.
//
// The package reads and writes nothing.
package ending
