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
// A reconcile depends on nothing but the cluster, and what is remembered of the parent (package parents). It may be repeated for no
// reason at no cost but an evaluation. What a phase found to be in the way is a problem (package conditions); the stories collect
// the problems, and phases that delete do nothing if there are any.
package reconcile
