// Package conditions turns what stands in the way of a parent into what people read: the parent's conditions and Events.
//
// A reconcile collects a [Problem] for each thing that did not succeed. [Summarize] makes one [Summary] of them: Ready,
// Reconciling or Stalled, with the gravest reason first. [Summary.Conditions] are the conditions that say so, [Notice] and
// [Wait] decide whether an Event is due as well, and [Redact] keeps the contents of Secrets out of all of them.
//
//	problems := []conditions.Problem{conditions.OfWrite("child web", err)}
//	summary := conditions.Summarize(problems, nil, rendered)
//	// summary: Stalled, NameTaken, "child web: Deployment.apps a/web already exists and ..."
//
// A list of conditions that the API server takes as one value has no field managers for its items: [List] puts the rule's
// conditions into such a list and leaves those of others.
//
// The package reads and writes nothing, and has no clock.
package conditions
