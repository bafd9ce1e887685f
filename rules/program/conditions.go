package program

import (
	"kanon.dev/kanon/rules/program/template"
	"kanon.dev/kanon/rules/syntax"
)

// renderConditions fills in the conditions. Each stands for itself: one that
// waits or failed is held.
func (e *Evaluation) renderConditions(out *Outcome) {
	for i := range e.prog.Conditions {
		c := &e.prog.Conditions[i]
		condition, p := c.render(&e.base)
		if p != nil {
			out.note(p.Under(c.Path))
			condition = Condition{Type: c.Type, Held: true}
		}
		out.Conditions = append(out.Conditions, condition)
	}
}

func (c *ConditionTemplate) render(s *scope) (out Condition, p *template.Problem) {
	out = Condition{Type: c.Type, Reason: c.Type}
	if out.Status, p = template.ConditionStatusOf(c.Status, s); p != nil {
		return out, p.Under("status")
	}
	if c.Reason != nil {
		if out.Reason, p = template.ReasonOf(c.Reason, s, syntax.MaxConditionReason); p != nil {
			return out, p.Under("reason")
		}
	}
	if c.Message == nil {
		return out, nil
	}
	if out.Message, p = template.TextOf(c.Message, s); p != nil {
		return out, p.Under("message")
	}
	if len(out.Message) > syntax.MaxConditionMessage {
		return out, template.Failure("has %d bytes, and a condition takes %d", len(out.Message), syntax.MaxConditionMessage).Under("message")
	}
	return out, nil
}

// renderEvents fills in the events. They can read the status that was rendered
// with the same outcome; one that is held as a whole is not there yet.
func (e *Evaluation) renderEvents(out *Outcome) {
	if len(e.prog.Events) == 0 {
		return
	}
	s := e.statusScope(out.Status)
	for i := range e.prog.Events {
		x := &e.prog.Events[i]
		event, p := x.render(s)
		if p != nil {
			out.note(p.Under(x.Path))
			event = Event{}
		}
		event.Finalizing = e.finalizing && x.Finalizing
		out.Events = append(out.Events, event)
	}
}

func (x *EventTemplate) render(s *scope) (Event, *template.Problem) {
	if holds, p := x.When.Holds(s, "when"); p != nil || !holds {
		return Event{State: EventOff}, p
	}
	reason, p := template.ReasonOf(x.Reason, s, syntax.MaxEventReason)
	if p != nil {
		return Event{}, p.Under("reason")
	}
	message, p := template.TextOf(x.Message, s)
	if p != nil {
		return Event{}, p.Under("message")
	}
	return Event{State: EventOn, Type: x.Type, Reason: reason, Message: message}, nil
}
