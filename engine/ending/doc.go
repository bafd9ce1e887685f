// Package ending decides which children are deleted, which are kept, and in which order.
//
// A child ends when its rule no longer renders it (it is pruned), or when its parent is deleted and the child has no
// owner reference for the garbage collector. Its deletionPolicy can keep it. If that needs no expression, the running
// rule decides; else it is what was decided when the child was last written, which its mark records.
//
//	policies := ending.Policies{ByNode: plan.Deletions}
//	for _, child := range ending.InOrder(unrendered, plan.Ordered, isDeleting) {
//		if policies.KeepsPruned(child) { ... } // orphan it, else delete it
//	}
//
// A parent that is being deleted waits for its children. If its rule has spec.finalize, they are deleted in the order
// of [Dependents]. Otherwise it waits as in Kubernetes ([Awaited]): in the background until each child is being
// deleted, in the foreground until each is gone.
//
// The package reads and writes nothing.
//
// What each file does:
//
//	policy.go       what deletionPolicy says of a child
//	child.go        a child that ends
//	order.go        the order in which children are deleted
//	awaited.go      which children a parent waits for
//	propagation.go  how a parent is being deleted
package ending
