// Package livediff shows what a rule would change for a parent in a cluster, and changes nothing.
//
//	d := livediff.New(livepreview.Options{Client: client, Kinds: kinds, Program: program, Namespace: "kanon-system"})
//	changes, err := d.Diff(ctx, parent)
//	for _, change := range changes.All { // created, changed, deleted, patched
//		fmt.Print(change.Unified())
//	}
//
// The rule is evaluated by package livepreview, as kanon render does, with the objects of the cluster.
// What is rendered is sent to the API server as a server-side dry run with Kanon's field manager, so that defaults, admission and
// refusals count (change.go). The status, and what patches set, are compared without a request.
package livediff
