// Package conditions turns what blocks a parent into what users read: the parent's conditions and Events.
//
// A reconcile collects a [Problem] for each failure. [Summarize] makes one [Summary] of them: Ready, Reconciling or
// Stalled, the gravest reason first. [Summary.Conditions] are the conditions for it, [Notice] and [Wait] decide whether
// an Event is due as well, and [Redact] keeps the contents of Secrets out of all of them.
//
//	problems := []conditions.Problem{conditions.OfWrite("child web", err)}
//	summary := conditions.Summarize(problems, rendered, "")
//	// summary: Stalled, NameTaken, "child web: Deployment.apps a/web already exists and ..."
//
// If the API server treats a list of conditions as one value, its items have no field managers: [List] puts the rule's
// conditions into such a list and keeps those of others.
//
// Only [Emit] has an effect: it sends an Event. The package has no clock.
//
// What each file does:
//
//	problem.go     a failure in a reconcile: its reason, and whether an event, a retry or a person ends it
//	reason.go      the reasons of conditions
//	summary.go     Ready, Reconciling or Stalled, and one message of all problems
//	condition.go   the conditions themselves
//	list.go        conditions in a list that the API server treats as one value
//	redact.go      hides the values of Secrets
//	notice.go      whether an Event about a problem is due
//	wait.go        whether an Event about what a parent waits for is due
//	ruleevents.go  which of spec.events are due
//	event.go       sends an Event
//	feedback.go    the texts about loops and field conflicts
//	recreation.go  the texts about objects that are not recreated now
package conditions
