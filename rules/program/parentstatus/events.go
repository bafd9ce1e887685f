package parentstatus

import (
	"kanon.dev/kanon/rules/naming"
	"kanon.dev/kanon/rules/program/template"
)

// EventTemplate is one of spec.events.
type EventTemplate struct {
	Path, Type      string
	When            *template.Expression
	Reason, Message template.Template
	// Finalizing is true if it reads finalizing.
	Finalizing bool
}

// EventState is the result of an event's when.
type EventState uint8

const (
	// EventUnknown means that the event waits or failed: its last state continues.
	EventUnknown EventState = iota
	// EventOff means that when is false.
	EventOff
	// EventOn means that when is true or missing.
	EventOn
)

// Event is one item of spec.events.
type Event struct {
	State EventState
	// Type is Normal or Warning. Type, Reason and Message are set with EventOn.
	Type, Reason, Message string
	// Finalizing is true if the parent is being finalized, and the event depends on that.
	Finalizing bool
}

// Render renders an event. Paths of problems are below the event.
func (x *EventTemplate) Render(s template.Scope) (Event, *template.Problem) {
	if holds, p := x.When.Holds(s, "when"); p != nil || !holds {
		return Event{State: EventOff}, p
	}
	reason, p := template.ReasonOf(x.Reason, s, naming.MaxEventReason)
	if p != nil {
		return Event{}, p.Under("reason")
	}
	message, p := template.TextOf(x.Message, s)
	if p != nil {
		return Event{}, p.Under("message")
	}
	return Event{State: EventOn, Type: x.Type, Reason: reason, Message: message}, nil
}
