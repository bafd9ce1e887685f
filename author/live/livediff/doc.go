// Package livediff shows what a rule would change for a parent in a cluster, and changes nothing.
//
//	d := livediff.New(livepreview.Options{Client: client, Kinds: kinds, Program: program, Namespace: "kanon-system"})
//	changes, err := d.Diff(ctx, parent)
//	for _, change := range changes.All { // created, changed, deleted, patched
//		fmt.Print(change.Unified())
//	}
//
// Package livepreview runs the engine's own reconcile on the objects of the cluster (livediff.go). What it writes to
// children and to the parent's status is sent to the API server as dry runs, so that defaults, admission and refusals
// count (dryrun.go, status.go). A recreated object is compared with a new one. Patches are compared without a request
// (change.go), and what they no longer set is restored by the engine in an API in memory (restored.go).
//
// A Summary asks the prune guard about everything that was compared (summary.go).
package livediff
