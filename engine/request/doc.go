// Package request reads what users request by annotations on a parent, and formats what Kanon answers:
//
//	kanon.dev/suspend: "true"                             # leave the parent as it is
//	kanon.dev/reconcile-at: "2026-03-05T06:07:08Z"        # reconcile it now; each new value asks once
//
// A request whose value is a time is answered by each rule that reconciles the parent: with an Event with the reason
// Reconciled, whose message is an [Answer]. So the requester learns that the reconcile has happened and what it found,
// even for kinds without conditions.
//
// The package reads and writes nothing.
package request
