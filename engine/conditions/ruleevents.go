package conditions

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"kanon.dev/kanon/rules/program/parentstatus"
)

// Emitted has, for each of spec.events, what is known of it for one parent. The zero value knows nothing.
type Emitted []parentstatus.Event

// Due takes in what spec.events rendered and lists the Events to emit: each when its when turns true, and when its text
// changes. The first call for a parent that is older than the rule only takes in how things are, so that neither a restart nor a
// new rule reports what happened long ago. It does report what is so because the parent is being finalized: that has no later
// call that could.
func (e *Emitted) Due(rendered []parentstatus.Event, isOld bool) []parentstatus.Event {
	if len(rendered) == 0 {
		return nil
	}
	if len(*e) != len(rendered) {
		*e = make(Emitted, len(rendered))
		if !isOld {
			for i := range *e {
				(*e)[i].State = parentstatus.EventOff
			}
		}
	}
	var due []parentstatus.Event
	for i, event := range rendered {
		before := (*e)[i]
		if event.State == parentstatus.EventUnknown {
			continue // it counts as it did before
		}
		(*e)[i] = event
		(*e)[i].Message = strings.Clone(event.Message) // it may be a part of the parent's text, which it outlives
		isNew := before.State != parentstatus.EventUnknown || event.Finalizing
		before.Finalizing = event.Finalizing
		if event.State == parentstatus.EventOn && isNew && event != before {
			due = append(due, event)
		}
	}
	return due
}

// EventType is Normal unless the event is a Warning.
func EventType(event parentstatus.Event) string {
	if event.Type == corev1.EventTypeWarning {
		return corev1.EventTypeWarning
	}
	return corev1.EventTypeNormal
}
