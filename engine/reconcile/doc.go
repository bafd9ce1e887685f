// Package reconcile brings what a rule makes of one parent up to date. A reconcile goes through phases, which hand their results on:
//
//   - gather (reader.go): the rule is evaluated from cache alone;
//   - write (children.go): what it rendered is brought to the cluster;
//   - delete (prune.go): what it no longer renders is deleted;
//   - report (package status): the status, the conditions and Events.
//
// The stories that these phases make up are in pass.go, and for a parent that is being deleted in parentdeletion.go:
//
//	r := reconcile.New(reconcile.Options{ ... })
//	out := r.Reconcile(ctx, op, key)
//	if out.After > 0 {
//		queue.AddAfter(key, out.After)
//	}
//
// What each file does:
//
//	reconciler.go       finds the parent of a key, and decides which story is for it
//	subject.go          what the phases of one reconcile share
//	cluster.go          how they read objects that no informer shows
//	evaluate.go         runs the rule, and waits for memory
//	reader.go           answers lookups and observed, and has what changes in them enqueue the parent
//	unmarked.go         finds a child whose mark proves nothing, so that it is not taken for missing
//	children.go         creates and updates children, side by side
//	adopt.go            takes over an object that nobody claims
//	recreate.go         deletes a child to create it again, with growing pauses
//	prune.go            deletes or orphans what is no longer rendered
//	deletewhen.go       deletes the parent itself
//	finalizer.go        adds the finalizer before children need it, confirms that it was in time, and removes it
//	parentdeletion.go   the story of a parent that is being deleted; deletechildren.go ends its children
//	finalize.go         spec.finalize: the cleanup before that
//	removal.go          a rule that was removed, and whether another rule may want its children
//	recursion.go        ends a rule whose children are parents of the same rule
//	suspend.go          a parent that is suspended
//
// A reconcile depends on nothing but the cluster, and what is remembered of the parent (package parents). It may be repeated for no
// reason at no cost but an evaluation. What a phase found to be in the way is a problem (package conditions); the stories collect
// the problems, and phases that delete do nothing if there are any.
package reconcile
