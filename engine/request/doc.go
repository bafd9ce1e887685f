// Package request is about what people ask of Kanon by annotations on a parent, and what Kanon answers:
//
//	kanon.dev/suspend: "true"                             # leave the parent as it is
//	kanon.dev/reconcile-at: "2026-03-05T06:07:08Z"        # reconcile it now; each new value asks once
//
// A request whose value is the time gets an answer from each rule that reconciles the parent: an Event with the reason Reconciled.
// Its message is an [Answer]. So whoever asked knows when it has happened, and how it went, also on kinds without conditions.
//
// The package reads and writes nothing.
package request
