// Package conditions turns what blocks a parent into what users read: the parent's conditions and Events. It also reads
// what users request by annotations on a parent, and stores what a rule has to remember about a parent between two
// reconciles and cannot read from the cluster.
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
// A request whose value is a time is answered by each rule that reconciles the parent: with an Event whose message is an
// [Answer].
//
// Everything remembered about one parent is in one [State] of a [Store], so it is forgotten in one place. What a State
// points to is read and changed only within Update, except for the [Memory] of a parent, which belongs to the worker that
// has the parent's key. A restart loses all States. Usually that costs an evaluation or a second Event. Two losses
// matter: Kanon may treat a foreground or an orphaning deletion under way as a background deletion, and the rule's status
// fields may stay on a parent without children that no longer matches the selector.
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
//	redact.go      hides the values of Secrets; names.go the names that a rule computes from them
//	event.go       sends an Event; whether one is due: about a problem, what a parent waits for, and of spec.events
//	feedback.go    the texts about loops and field conflicts
//	request.go     annotations by which users request a reconcile, suspend a parent or raise its log level
//	store.go       what is remembered of all parents; memory.go for one revision of the rule
//	rules.go       how many parents of a rule are ready, why others are not, and which wait for a right
package conditions
