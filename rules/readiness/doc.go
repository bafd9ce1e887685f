// Package readiness returns the state of a live object: in progress, current, failed or terminating. It follows kstatus, and is
// stricter where kstatus calls an object current that has merely begun:
//
//	result, err := readiness.Of(job, false)
//	// a Job that runs: {InProgress "Job in progress. success:0, active: 1, failed: 0"}
//
// The result depends on the object alone: the package has no clock. The table in docs/reference/children.md under "readyWhen" says
// what ready means for each kind, and TestDocumentedKinds has a case for each row.
package readiness
