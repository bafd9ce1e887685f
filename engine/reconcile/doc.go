// Package reconcile brings everything that a rule defines for one parent up to date. A reconcile runs in phases; each
// hands its results to the next:
//
//   - gather (reader.go): evaluate the rule from the informers' caches;
//   - write (children.go): create and update what the rule rendered;
//   - delete (prune.go): delete what the rule no longer renders;
//   - report (status.go): the status, the conditions and Events.
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
//	reconciler.go       finds the parent of a key, and decides which kind of reconcile it needs, or none
//	pass.go             one reconcile: what it is about and has found, and the order of its phases
//	cluster.go          reads objects that no informer shows
//	evaluate.go         runs the rule, and waits for memory
//	reader.go           answers lookups and observed, and subscribes the parent to their changes; finds a child whose
//	                    mark proves nothing, so that it does not count as missing
//	reads.go            checks what a rule with a ServiceAccount may read, and refuses objects that grant rights
//	children.go         creates and updates children; chooses which of them need the finalizer on the parent
//	parallel.go         writes several of them at the same time
//	adopt.go            takes over an object that nobody controls
//	recreate.go         deletes a child to recreate it, with growing pauses
//	creations.go        notices children that do not last, and creates them again with growing pauses
//	prune.go            deletes or orphans children that are no longer rendered, and the parent itself by deleteWhen
//	finalizer.go        adds the finalizer before children need it, confirms that it was in time, removes it
//	parentdeletion.go   reconciles a parent that is being deleted; deletechildren.go ends its children
//	finalize.go         spec.finalize: the cleanup before the children are deleted
//	removedrule.go      cleans up after a removed rule, unless another rule may want its children
//	recursion.go        stops a rule whose children are parents of the same rule
//	status.go           reports what a reconcile found; writestatus.go writes the status, if it differs
//	conditionowner.go   other rules that write the same conditions
//	mergeconditions.go  conditions of others in the same list
//	names.go            finds the names that a rule computes from Secrets, so that nobody is told them
//	events.go           spec.events, Events about problems, and answers to requests
//
// A reconcile depends only on the cluster and on what is remembered of the parent (package conditions). A needless
// repetition costs one evaluation and nothing else. Whatever blocks a phase is a problem (package conditions). The pass
// collects the problems, and phases that delete do nothing if there are any.
package reconcile
