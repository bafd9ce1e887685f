package conditions

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"kanon.dev/kanon/rules/program/parentstatus"
)

// Emitted has the last state of each of spec.events for one parent. The zero value knows nothing.
type Emitted []parentstatus.Event

// Due records what spec.events rendered, and returns the Events to emit: each when its condition becomes true, and when
// its text changes. The first call for a parent that is older than the rule only records the state, so that neither a
// restart nor a new rule reports what happened long ago. It does return an Event that is about the finalization of the
// parent, since no later call could.
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
			continue // its last state stays
		}
		(*e)[i] = event
		(*e)[i].Message = strings.Clone(event.Message) // it may be part of the parent's text, which it outlives
		isNew := before.State != parentstatus.EventUnknown || event.Finalizing
		before.Finalizing = event.Finalizing
		if event.State == parentstatus.EventOn && isNew && event != before {
			due = append(due, event)
		}
	}
	return due
}

// EventType returns Normal unless the event is a Warning.
func EventType(event parentstatus.Event) string {
	if event.Type == corev1.EventTypeWarning {
		return corev1.EventTypeWarning
	}
	return corev1.EventTypeNormal
}
