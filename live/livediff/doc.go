// Package livediff shows what a rule would change for a parent in a cluster, and changes nothing.
//
//	d := livediff.New(livepreview.Options{Client: client, Kinds: kinds, Program: program, Namespace: "kanon-system"})
//	changes, err := d.Diff(ctx, parent)
//	for _, change := range changes.All { // created, changed, deleted, patched
//		fmt.Print(change.Unified())
//	}
//
// The rule is evaluated by package livepreview, as kanon render does, with the objects of the cluster (livediff.go).
//
// What is rendered is sent to the API server as a dry run with Kanon's field manager, so that defaults, admission and refusals count
// (write.go). Which request that is, and which fields an apply leaves to others, package engine/apply/fieldset decides, as for the
// engine (writing.go). If it takes more than one request, the result is computed with the code of the API server (merge.go). An
// object that is recreated is compared with a new one (recreate.go). The status is a dry run, too, for a parent that the cluster has
// (status.go). What patches set is compared without a request (change.go).
//
// A Summary asks the prune guard about all that was compared (summary.go).
package livediff
