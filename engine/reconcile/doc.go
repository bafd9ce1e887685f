// Package reconcile brings everything that a rule defines for one parent up to date. A reconcile runs in phases; each
// hands its results to the next:
//
//   - gather (reader.go): evaluate the rule from the informers' caches;
//   - write (children.go): create and update what the rule rendered;
//   - delete (prune.go): delete what the rule no longer renders;
//   - report (package status): the status, the conditions and Events.
//
// pass.go combines the phases into a reconcile; parentdeletion.go does so for a parent that is being deleted:
//
//	r := reconcile.New(reconcile.Options{ ... })
//	out := r.Reconcile(ctx, op, key)
//	if out.After > 0 {
//		queue.AddAfter(key, out.After)
//	}
//
// What each file does:
//
//	reconciler.go       finds the parent of a key, and decides which kind of reconcile it needs
//	subject.go          what the phases of one reconcile share
//	cluster.go          reads objects that no informer shows
//	evaluate.go         runs the rule, and waits for memory
//	reader.go           answers lookups and observed, and subscribes the parent to their changes
//	reads.go            checks what a rule with a ServiceAccount may read, and refuses objects that grant rights
//	unmarked.go         finds a child whose mark proves nothing, so that it does not count as missing
//	children.go         creates and updates children in parallel; chooses which of them need the finalizer on the parent
//	adopt.go            takes over an object that nobody controls
//	recreate.go         deletes a child to recreate it, with growing pauses
//	prune.go            deletes or orphans children that are no longer rendered
//	deletewhen.go       deletes the parent itself
//	finalizer.go        adds the finalizer before children need it, confirms that it was in time, removes it
//	parentdeletion.go   reconciles a parent that is being deleted; deletechildren.go ends its children
//	finalize.go         spec.finalize: the cleanup before the children are deleted
//	removedrule.go      cleans up after a removed rule, unless another rule may want its children
//	recursion.go        stops a rule whose children are parents of the same rule
//	suspend.go          leaves a suspended parent alone (package request reads the annotation)
//
// A reconcile depends only on the cluster and on what is remembered of the parent (package parents). A needless
// repetition costs one evaluation and nothing else. Whatever blocks a phase is a problem (package conditions). The pass
// collects the problems, and phases that delete do nothing if there are any.
package reconcile
