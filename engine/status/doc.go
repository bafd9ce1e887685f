// Package status reports on a parent what a reconcile found: in its status, with what the rule renders there; in its
// conditions; and by Events, those of spec.events and those about problems:
//
//	report := &status.Report{Options: options, Parent: parent}
//	problems := report.Report(ctx, status.Found{Result: result, Problems: found})
//
// It writes nothing that the parent has already. What others have in the status stays theirs: another rule, or another
// controller whose conditions are in the same list. A status that a rule computes from the status that it writes is left as
// it is. If a kind has no conditions, Events report what a parent waits for.
//
// Package conditions makes conditions and Events from the findings; this package decides which of them to write.
//
// What each file does:
//
//	status.go  the entry point: reports what a reconcile found
//	write.go   the status that is written, if it differs
//	owner.go   other rules that write the same conditions
//	merge.go   conditions of others in the same list
//	loop.go    a status that is computed from itself
//	events.go  spec.events, and Events about problems
package status
