// Package readiness says how far a live object has come: in progress, current, failed
// or terminating. It goes by kstatus, and is stricter where kstatus takes an object for
// current that has merely begun:
//
//	result, err := readiness.Of(job, false)
//	// a Job that runs: {InProgress "Job in progress. success:0, active: 1, failed: 0"}
//
// An answer depends on the object alone: the package has no clock. The table in
// docs/reference/children.md under "readyWhen" says what ready means for each kind, and
// TestDocumentedKinds has a case for each row of it.
package readiness
