package rules

import (
	"github.com/google/cel-go/common/types"

	"kanon.dev/kanon/rules/syntax"
)

// note keeps why a part that is no child has no value. What belongs to a skipped
// child is left out without a word.
func (o *Outcome) note(p *problem) {
	switch p.verdict {
	case waits:
		o.StatusWaiting = append(o.StatusWaiting, p.Error())
	case fails:
		o.StatusFailed = append(o.StatusFailed, Problem{Path: p.path, Message: p.message, Advice: p.advice})
	case skips:
	}
}

// renderConditions fills in the conditions. Each stands for itself: one that
// waits or failed is held.
func (e *Evaluation) renderConditions(out *Outcome) {
	for i := range e.prog.conditions {
		c := &e.prog.conditions[i]
		condition, p := c.render(&e.base)
		if p != nil {
			out.note(p.under(c.path))
			condition = Condition{Type: c.typ, Held: true}
		}
		out.Conditions = append(out.Conditions, condition)
	}
}

func (c *compiledCondition) render(s *scope) (Condition, *problem) {
	out := Condition{Type: c.typ, Reason: c.typ}
	status, ok, p := c.status.render(s)
	if p != nil {
		return out, p.under("status")
	}
	switch v := status.(type) {
	case bool:
		out.Status = "False"
		if v {
			out.Status = "True"
		}
	case string:
		out.Status = v
	}
	if !ok || !syntax.IsConditionStatus(out.Status) {
		return out, failure("must be true or false, or True, False or Unknown, and is %s", s.ev.describe(status, ok)).under("status")
	}
	if c.reason != nil {
		if out.Reason, p = reasonOf(c.reason, s, syntax.MaxConditionReason); p != nil {
			return out, p
		}
	}
	if c.message == nil {
		return out, nil
	}
	if out.Message, p = textOf(c.message, s); p != nil {
		return out, p.under("message")
	}
	if len(out.Message) > syntax.MaxConditionMessage {
		return out, failure("has %d bytes, and a condition takes %d", len(out.Message), syntax.MaxConditionMessage).under("message")
	}
	return out, nil
}

// reasonOf renders a reason.
func reasonOf(t template, s *scope, longest int) (string, *problem) {
	reason, p := textOf(t, s)
	if p == nil {
		if wrong := syntax.WrongReason(reason, longest); wrong != "" {
			p = failure("%s, and is %s", wrong, s.ev.shown(reason))
		}
	}
	if p != nil {
		return "", p.under("reason")
	}
	return reason, nil
}

// textOf renders what must be text.
func textOf(t template, s *scope) (string, *problem) {
	val, ok, p := t.render(s)
	if p != nil {
		return "", p
	}
	text, isText := val.(string)
	if !isText {
		return "", failure("must be a string, and is %s", s.ev.describe(val, ok))
	}
	return text, nil
}

// describe names a value for a message: text as it stands, else the type.
func (e *Evaluation) describe(val any, ok bool) string {
	if text, isText := val.(string); isText {
		return e.shown(text)
	}
	if !ok {
		return "missing"
	}
	return jsonType(val)
}

// renderEvents fills in the events. They can read the status that was rendered
// with the same outcome; one that is held as a whole is not there yet.
func (e *Evaluation) renderEvents(out *Outcome) {
	if len(e.prog.events) == 0 {
		return
	}
	s := e.base
	s.status = out.Status
	if out.Status == nil {
		s.status = types.WrapErr(waiting("status has no value yet"))
	}
	for i := range e.prog.events {
		x := &e.prog.events[i]
		event, p := x.render(&s)
		if p != nil {
			out.note(p.under(x.path))
			event = Event{}
		}
		out.Events = append(out.Events, event)
	}
}

func (x *compiledEvent) render(s *scope) (Event, *problem) {
	if x.when != nil {
		ok, p := x.when.isTrue(s)
		switch {
		case p != nil:
			return Event{}, p.under("when")
		case !ok:
			return Event{State: EventOff}, nil
		}
	}
	reason, p := reasonOf(x.reason, s, syntax.MaxEventReason)
	if p != nil {
		return Event{}, p
	}
	message, p := textOf(x.message, s)
	if p != nil {
		return Event{}, p.under("message")
	}
	return Event{State: EventOn, Type: x.typ, Reason: reason, Message: message}, nil
}

// compiledCondition is one of spec.conditions.
type compiledCondition struct {
	typ string
	// path is its place for messages.
	path   string
	status template
	// reason and message are nil where they were left out.
	reason, message template
}

// compiledEvent is one of spec.events.
type compiledEvent struct {
	path            string
	typ             string
	when            *expression
	reason, message template
}
