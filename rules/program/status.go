package program

import (
	"kanon.dev/kanon/rules/celenv"
	"kanon.dev/kanon/rules/syntax"
)

func (e *Evaluation) renderStatus(out *Result) {
	if e.prog.Status != nil {
		out.Status, out.KeepStatus = statusOf(e.prog.Status, &e.base, e.parent["status"], out.note)
	}
}

func (e *Evaluation) renderConditions(out *Result) {
	for i := range e.prog.Conditions {
		c := &e.prog.Conditions[i]
		condition, p := c.Render(&e.base)
		if p != nil {
			out.note(p.Under(c.Path))
			condition = Condition{Type: c.Type, Keep: true}
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
			event = Event{}
		}
		event.Finalizing = e.finalizing && x.Finalizing
		out.Events = append(out.Events, event)
	}
}

// statusOf renders a status. last is the parent's status, and note is called for each leaf that has no value now. A leaf
// that waits or failed keeps the parent's last value, and one that reads a skipped child is left out. A list is one
// leaf, and so is a map from an expression.
//
// held is true if the status as a whole has no value now; fields are nil then.
func statusOf(t Template, s Scope, last any, note func(*Problem)) (fields map[string]any, held bool) {
	r := renderer{scope: s, note: func(p *Problem) {
		held = held || p.Verdict != Skips
		note(p)
	}}
	val, ok := r.node(t, "status", last, last != nil, true)
	fields, isMap := val.(map[string]any)
	switch {
	case !ok:
		return nil, held
	case !isMap:
		note(Failure("must be a map, and is %s", TypeOf(val)).Under("status"))
		return nil, true
	}
	if p := s.Session().HoldObject(fields); p != nil {
		note(p.Under("status"))
		return nil, true
	}
	return fields, false
}

type renderer struct {
	scope Scope
	note  func(*Problem)
}

// node renders one part of the status. last is the parent's value there. The status as a whole has no last value: what
// others wrote there is not ours.
func (r *renderer) node(t Template, path string, last any, has, whole bool) (any, bool) {
	if m, ok := t.(Map); ok {
		if val, ok := r.fields(m, path, last); ok {
			return val, true
		}
		return keepValue(last, has && !whole)
	}
	val, ok, p := t.Render(r.scope)
	if p == nil {
		return val, ok && val != nil
	}
	r.note(p.Under(path))
	return keepValue(last, has && !whole && p.Verdict != Skips)
}

// fields renders a mapping; false if a key has no value.
func (r *renderer) fields(m Map, path string, last any) (any, bool) {
	before, _ := last.(map[string]any)
	rendered := make(map[string]any, len(m.Entries))
	for i := range m.Entries {
		entry := &m.Entries[i]
		name, p := entry.KeyOf(r.scope)
		if p != nil {
			r.note(p.Under(path + "." + entry.Name))
			return nil, false
		}
		old, has := before[name]
		if val, ok := r.node(entry.Value, path+"."+entry.ShownKey(name, r.scope), old, has, false); ok {
			rendered[name] = val
		}
	}
	return rendered, true
}

func keepValue(last any, has bool) (any, bool) {
	if !has || last == nil {
		return nil, false
	}
	return celenv.CopyJSON(last), true
}

// maxConditionMessage is the limit of metav1.Condition for a message, in bytes.
const maxConditionMessage = 32768

// ConditionTemplate is one of spec.conditions.
type ConditionTemplate struct {
	Type string
	// Path is its position, for messages.
	Path   string
	Status Template
	// Reason and Message are nil if they were left out.
	Reason, Message Template
}

// Condition is one condition that the rule sets on its parent.
type Condition struct {
	Type    string
	Status  string // True, False or Unknown
	Reason  string
	Message string
	// Keep is true if the condition waits or failed: the parent keeps its condition of that type, and the other fields
	// are empty.
	Keep bool
}

// Render renders a condition. Paths of problems are below the condition.
func (c *ConditionTemplate) Render(s Scope) (out Condition, p *Problem) {
	out = Condition{Type: c.Type, Reason: c.Type}
	if out.Status, p = ConditionStatusOf(c.Status, s); p != nil {
		return out, p.Under("status")
	}
	if c.Reason != nil {
		if out.Reason, p = ReasonOf(c.Reason, s, syntax.MaxConditionReason); p != nil {
			return out, p.Under("reason")
		}
	}
	if c.Message == nil {
		return out, nil
	}
	if out.Message, p = TextOf(c.Message, s); p != nil {
		return out, p.Under("message")
	}
	if len(out.Message) > maxConditionMessage {
		return out, Failure("has %d bytes, and a condition takes %d", len(out.Message), maxConditionMessage).Under("message")
	}
	return out, nil
}

// EventTemplate is one of spec.events.
type EventTemplate struct {
	Path, Type      string
	When            *Expression
	Reason, Message Template
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
func (x *EventTemplate) Render(s Scope) (Event, *Problem) {
	if holds, p := x.When.Holds(s, "when"); p != nil || !holds {
		return Event{State: EventOff}, p
	}
	reason, p := ReasonOf(x.Reason, s, syntax.MaxEventReason)
	if p != nil {
		return Event{}, p.Under("reason")
	}
	message, p := TextOf(x.Message, s)
	if p != nil {
		return Event{}, p.Under("message")
	}
	return Event{State: EventOn, Type: x.Type, Reason: reason, Message: message}, nil
}
