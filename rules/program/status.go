package program

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/rules/celenv"
	"kanon.dev/kanon/rules/flow"
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

// renderPatches renders the patches. It comes after all children: a patch that reads a child which is not settled
// waits.
func (e *Evaluation) renderPatches(out *Result) {
	if len(e.prog.Patches) == 0 {
		return
	}
	out.Patches = make([]PatchResult, len(e.prog.Patches))
	for i, patch := range e.prog.Patches {
		out.Patches[i] = e.renderPatch(patch)
	}
}

func (e *Evaluation) renderPatch(patch *Patch) PatchResult {
	out := PatchResult{ID: patch.ID, State: StateApplied}
	if e.isLeftOut(patch.GVK, patch.Optional) { // like a child, without its when and its forEach
		out.State, out.Message = StateSkipped, e.missing[patch.GVK].Message
		return out
	}
	tuples, p := e.tuples(&patch.Body)
	if p != nil {
		out.Unknown = true
		out.stop(p)
		return out
	}
	var first *Problem
	skipped := 0
	for at, t := range tuples {
		p := e.session.Overdue()
		if p != nil {
			out.Unknown = true
		} else {
			var set, known bool
			if set, known, p = e.contribute(patch, e.scopeOf(&patch.Body, t, at), &out); !set && p == nil {
				skipped++
			}
			out.Unknown = out.Unknown || !known
		}
		if p.Outweighs(first) {
			first = p
		}
		if out.Unknown && p != nil && e.session.Late {
			break
		}
	}
	switch {
	case first != nil:
		out.stop(first)
	case skipped == len(tuples):
		out.State = StateSkipped
	}
	return out
}

func (o *PatchResult) stop(p *Problem) {
	o.State = StateFailed
	if p.Verdict == Waits {
		o.State = StateWaiting
	}
	o.Problem = *p
}

// contribute adds what one item sets. set is false if its when is false. known is false if the targets of the item are
// unknown.
func (e *Evaluation) contribute(patch *Patch, s *scope, out *PatchResult) (set, known bool, p *Problem) {
	holds, p := patch.When.Holds(s, "when")
	if p == nil && !holds {
		return false, true, nil
	}
	if missing := e.checkKind(patch.GVK); missing != nil {
		return true, false, cmp.Or(p, missing)
	}
	target, stopped := e.targetOf(patch, s)
	if stopped != nil {
		return true, false, cmp.Or(p, stopped)
	}
	var object *unstructured.Unstructured
	if p == nil {
		object, p = e.renderContribution(patch, s)
	}
	out.Contributions = append(out.Contributions, Contribution{Target: target, Object: object})
	return true, true, p
}

func (e *Evaluation) targetOf(patch *Patch, s *scope) (Target, *Problem) {
	if patch.Target == nil {
		return Target{Namespace: e.object.GetNamespace(), Name: e.object.GetName()}, nil
	}
	q, p := e.query(patch.Target, s)
	return q.Target, p
}

func (e *Evaluation) renderContribution(patch *Patch, s *scope) (*unstructured.Unstructured, *Problem) {
	fields, p := e.renderFields(patch.Template, s, "the template gives no fields")
	if p == nil {
		p = checkPatchFields(fields)
	}
	if p == nil {
		p = e.session.HoldObject(fields)
	}
	if p != nil {
		return nil, p.Under("template")
	}
	object := &unstructured.Unstructured{Object: fields}
	object.SetGroupVersionKind(patch.GVK)
	return object, nil
}

func (e *Evaluation) renderDeletion(out *Result) {
	if e.prog.DeleteWhen == nil {
		return
	}
	holds, p := e.prog.DeleteWhen.IsTrue(&e.base)
	switch {
	case p != nil:
		out.note(p.Under("deleteWhen"))
		out.Deletion = DeletionUnknown
	case holds:
		out.Deletion = DeletionOn
	}
}

// renderFinalization reports how far the cleanup of a parent that is being deleted has come.
func (e *Evaluation) renderFinalization(out *Result) {
	if !e.finalizing || e.prog.Finalize == nil {
		return
	}
	f := &out.Finalization
	f.Timeout = e.duration(e.prog.Finalize.Timeout, out)
	if node, waits := e.waitsForCleanup(out); waits {
		f.Waits = "child " + node.ID + ": " + node.Text()
		return
	}
	if until := e.prog.Finalize.Until; until != nil {
		holds, p := until.IsTrue(&e.base)
		switch {
		case p != nil:
			f.Waits, f.Failed = "until: "+p.Text(), p.Verdict == Fails
		case !holds:
			f.Waits = "until is false: " + Shorten(until.Text) + e.untilWaitsFor(out)
		}
		f.Done = holds && p == nil
		return
	}
	for i, child := range e.prog.Children {
		if child.Cleanup && len(e.nodes[i].uncreated) > 0 {
			// What has not begun is not done; to a when that is false there is nothing to do.
			f.Waits = "waits for child " + child.ID + " to be created: createWhen is false"
			return
		}
		if node := out.Nodes[i]; child.Cleanup && !node.Ready {
			f.Waits = "waits for child " + node.ID + " to be ready"
			if node.Message != "" {
				f.Waits += ": " + node.Text()
			}
			f.Failed = e.hasFailed(i)
			return
		}
	}
	f.Done = true
}

// untilWaitsFor names what until reads: the first child that is not ready, or else everything.
func (e *Evaluation) untilWaitsFor(out *Result) string {
	var names []string
	for _, r := range e.prog.Finalize.Reads {
		i, isChild := e.prog.ByID[r.ID]
		if isChild && r.Root == flow.RootChildren && !out.Nodes[i].Ready {
			return "; child " + r.ID + " is not ready: " + out.Nodes[i].Text()
		}
		if name := r.Name(); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "; it waits for " + strings.Join(names, ", ")
}

// waitsForCleanup returns the first required child of spec.finalize that is rendered and does not exist: its kind is
// missing, or its write failed. Until it can be created, the cleanup is not done, whatever until says.
func (e *Evaluation) waitsForCleanup(out *Result) (NodeResult, bool) {
	for i, child := range e.prog.Children {
		if node := out.Nodes[i]; child.Cleanup && (node.KindMissing || node.State == StateNotApplied) {
			return node, true
		}
	}
	return NodeResult{}, false
}
