// Package livediff shows what a rule would change for a parent in a cluster, and changes nothing.
//
//	d := livediff.New(livepreview.Options{Client: client, Kinds: kinds, Program: program, Namespace: "kanon-system"})
//	changes, err := d.Diff(ctx, parent)
//	for _, change := range changes.All { // created, changed, deleted, patched
//		fmt.Print(change.Unified())
//	}
//
// Package livepreview evaluates the rule with the objects of the cluster, as for kanon render (livediff.go).
//
// Rendered objects are sent to the API server as dry runs with Kanon's field manager, so that defaults, admission and
// refusals count (write.go). As in the engine, package engine/apply/fieldset decides which request that is, and which
// fields an apply leaves to others (writing.go). If a write takes more than one request, the API server's own code
// computes the result (merge.go). A recreated object is compared with a new one (recreate.go). The status is a dry run
// too, if the cluster has the parent (status.go). Patches are compared without a request (change.go).
//
// A Summary asks the prune guard about everything that was compared (summary.go).
package livediff
