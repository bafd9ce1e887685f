// Package status reports on a parent what a reconcile found: in its status, with what the rule renders there; in its
// conditions; and by Events, those of spec.events and those about problems:
//
//	report := &status.Report{Options: options, Parent: parent}
//	problems := report.Report(ctx, status.Found{Result: result, Problems: found})
//
// It writes nothing that the parent has already. What others have in the status stays theirs: another rule (owner.go),
// or another controller whose conditions are in the same list (merge.go). A status that a rule computes from the status
// that it writes is left as it is (loop.go). If a kind has no conditions, Events report what a parent waits for
// (events.go).
//
// Package conditions makes conditions and Events from the findings; this package decides which of them to write.
package status
