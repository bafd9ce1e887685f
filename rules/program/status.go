package program

import (
	"kanon.dev/kanon/rules/program/parentstatus"
)

// renderStatus renders spec.status.
func (e *Evaluation) renderStatus(out *Result) {
	if e.prog.Status != nil {
		out.Status, out.KeepStatus = parentstatus.Render(e.prog.Status, &e.base, e.parent["status"], out.note)
	}
}

// renderConditions renders spec.conditions.
func (e *Evaluation) renderConditions(out *Result) {
	for i := range e.prog.Conditions {
		c := &e.prog.Conditions[i]
		condition, p := c.Render(&e.base)
		if p != nil {
			out.note(p.Under(c.Path))
			condition = parentstatus.Condition{Type: c.Type, Keep: true}
		}
		out.Conditions = append(out.Conditions, condition)
	}
}

// renderEvents renders spec.events, which can read the status of the same outcome. If the status waits as a whole, so
// do they.
func (e *Evaluation) renderEvents(out *Result) {
	if len(e.prog.Events) == 0 {
		return
	}
	s := e.StatusScope(out.Status)
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
