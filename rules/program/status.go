package program

import (
	"kanon.dev/kanon/rules/program/parentstatus"
)

// renderStatus fills in what the parent's status should say.
func (e *Evaluation) renderStatus(out *Outcome) {
	if e.prog.Status != nil {
		out.Status, out.StatusHeld = parentstatus.Render(e.prog.Status, &e.base, e.parent["status"], out.note)
	}
}

// renderConditions fills in the conditions.
func (e *Evaluation) renderConditions(out *Outcome) {
	for i := range e.prog.Conditions {
		c := &e.prog.Conditions[i]
		condition, p := c.Render(&e.base)
		if p != nil {
			out.note(p.Under(c.Path))
			condition = parentstatus.Condition{Type: c.Type, Held: true}
		}
		out.Conditions = append(out.Conditions, condition)
	}
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
		event, p := x.Render(s)
		if p != nil {
			out.note(p.Under(x.Path))
			event = parentstatus.Event{}
		}
		event.Finalizing = e.finalizing && x.Finalizing
		out.Events = append(out.Events, event)
	}
}
