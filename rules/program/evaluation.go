package program

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/rules/celenv/function"
	"kanon.dev/kanon/rules/celenv/run"
	"kanon.dev/kanon/rules/ignore"
	"kanon.dev/kanon/rules/program/rendered"
	"kanon.dev/kanon/rules/program/template"
)

// Evaluation is one evaluation of a rule for one parent, driven by its caller:
//
//	for batch := ev.Next(); len(batch) > 0; batch = ev.Next() {
//		… bring all objects of the batch up to date …
//		ev.Applied(node, live) // for each node of the batch
//	}
//	out := ev.Outcome()
//
// It does no I/O, holds no lock and is not safe for concurrent use.
type Evaluation struct {
	prog   *Program
	object *unstructured.Unstructured
	parent map[string]any
	reader Reader
	// clock is now, and notes when what was computed from it changes.
	clock  run.Clock
	random function.Random
	// finalizing and missing are as in Input.
	finalizing bool
	missing    map[schema.GroupVersionKind]Absence
	// base is the scope outside of all children.
	base      scope
	variables []memo
	nodes     []nodeState
	// reads is nil until something needs it.
	reads *reads
	// session is what all expressions share, and rendered counts the children.
	session  template.Session
	rendered int
	// claimed maps what has been rendered to the child that did.
	claimed map[rendered.Identity]int
	// deletions says of rendered objects what is to become of them, where they are not
	// simply deleted.
	deletions map[rendered.Identity]Ending
	// ignores has the fields of rendered objects that are left to others because a
	// condition holds.
	ignores map[rendered.Identity][]ignore.Path
}

// phase is how far a node has come. It only goes forward.
type phase uint8

const (
	nodePending phase = iota
	// nodeRendered waits for the caller to say what became of it.
	nodeRendered
	nodeApplied
	nodeSkipped
	// nodeUncreated has no object, and createWhen keeps one from being made.
	nodeUncreated
	nodeWaiting
	nodeFailed
	nodeNotApplied
)

// settled says whether no more will happen to the node.
func (p phase) settled() bool { return p >= nodeApplied }

// nodeState is what is known of one child in one evaluation.
type nodeState struct {
	state phase
	// problem says why the node, or the first of its items with a problem, is
	// waiting or failed.
	problem *template.Problem
	// partial is true where items are left out because of a problem.
	partial bool
	items   []item
	// awaits says what the node depends on that is not ready: of its objects, only those are written that are rendered as they
	// were when they were last applied.
	awaits *template.Problem
	// uncreated are rendered objects that createWhen keeps from being made.
	uncreated []*unstructured.Unstructured
	// list holds the live objects of a forEach.
	list []any
	// leftOut is one more than the index of the first item that is left out, and missing
	// how many are.
	leftOut int32
	missing int
	// delay says why an object is not brought up to date now; empty where nobody knows.
	delay string
	// rollingOut says what a rollout waits for; stalled that it does so in vain.
	rollingOut *template.Problem
	stalled    bool
	// readiness is asked once.
	readyKnown bool
	notReady   *template.Problem
}

// item is one object of a node.
type item struct {
	scope  scope
	object *unstructured.Unstructured
	live   *unstructured.Unstructured
	// fate says what is to be done; live is known from the start unless it is written.
	fate fate
	// fresh are the generated fields that the object that is there lacks.
	fresh [][]string
	// renewal says whether one that is there is to be created again.
	renewal Renewal
	// before is the object that is there, where it was asked for, and held is true
	// where a rollout leaves that as it is for now.
	before *unstructured.Unstructured
	held   bool
	// awaits is true where what the item depends on is not ready. It exists. postponed is true where it is to be changed then.
	awaits, postponed bool
}

// fate is what is to become of an item.
type fate uint8

const (
	// fateWritten: the object is to be brought up to date.
	fateWritten fate = iota
	// fateKept: the object is there, and is left as it is.
	fateKept
	// fateUncreated: there is no object, and createWhen keeps it from being made.
	fateUncreated
)

// Evaluate starts an evaluation. ctx bounds the time that expressions take;
// the input is only read.
func (p *Program) Evaluate(ctx context.Context, in Input) *Evaluation {
	ev := &Evaluation{
		prog: p, object: in.Parent, parent: in.Parent.Object, reader: in.Reader, clock: run.NewClock(in.Now),
		finalizing: in.Finalizing, missing: in.Missing,
		session:   template.NewSession(ctx, p.Limits, in.Memory, p.HasSecrets),
		variables: make([]memo, len(p.Variables)),
		nodes:     make([]nodeState, len(p.Children)),
		claimed:   make(map[rendered.Identity]int, len(p.Children)+1),
	}
	ev.base.ev, ev.random.Source = ev, in.Random
	ev.claimed[rendered.IdentityOf(in.Parent)] = parentClaim
	for i, child := range p.Children {
		if child.Cleanup && !in.Finalizing {
			ev.nodes[i].state = nodeSkipped
		}
	}
	ev.skipMissing()
	return ev
}

// Matches says whether the rule is for this parent, as far as spec.parent.when
// says. The error, a *MatchError, says why that is not known.
func (e *Evaluation) Matches() (bool, error) {
	e.session.Begin()
	if e.prog.Parent.When == nil {
		return true, nil
	}
	ok, p := e.prog.Parent.When.IsTrue(&e.base)
	if p == nil {
		return ok, nil
	}
	return false, &MatchError{Problem: problemOf(p.Under("spec.parent.when")), Waits: p.Verdict == template.Waits}
}

// MatchError is why it is not known whether a rule is for a parent.
type MatchError struct {
	Problem

	// Waits is true where the expression reads what is not there yet. Else it will have no
	// value before the rule or what it reads is changed.
	Waits bool
}

// Error gives the place and what is wrong.
func (e *MatchError) Error() string { return e.Path + ": " + e.Text() }

// Next gives every node that can be written now, in an order in which each
// comes after those that it needs. It is empty when nothing more can. A node
// is given once; it may have no objects. It is empty as well once the evaluation is
// Starved.
func (e *Evaluation) Next() []Rendered {
	e.session.Begin()
	var batch []Rendered
	for _, i := range e.prog.Order {
		n := &e.nodes[i]
		if n.state != nodePending || !e.canGo(i) {
			continue
		}
		n.awaits = e.dependencyNotReady(i)
		if e.renderNode(i); n.state != nodeRendered && n.state != nodeUncreated {
			continue
		}
		out := e.toWrite(i)
		batch = append(batch, out)
		if len(out.Objects) == 0 && n.state == nodeRendered {
			e.settle(i)
		}
	}
	if e.session.Starved {
		return nil
	}
	return batch
}

// toWrite sorts the objects of a node that was rendered by what is to be done.
func (e *Evaluation) toWrite(i int) Rendered {
	n, child := &e.nodes[i], e.prog.Children[i]
	out := Rendered{
		Node: child.ID, Objects: make([]*unstructured.Unstructured, 0, len(n.items)),
		Kept: n.uncreated, Guarded: child.guarded() || child.Rollout != nil, Partial: n.partial,
		items: make([]*item, 0, len(n.items)), generates: len(child.Generated) > 0,
	}
	for j := range n.items {
		it := &n.items[j]
		if it.held {
			out.Held = append(out.Held, it.object)
		}
		if it.fate != fateWritten {
			out.Kept = append(out.Kept, it.object)
			if it.postponed {
				out.Awaiting = append(out.Awaiting, Awaiting{Object: it.object, Renewal: it.renewal})
			}
			continue
		}
		out.Objects, out.items = append(out.Objects, it.object), append(out.items, it)
	}
	return out
}

// canGo says whether all that a child needs is settled.
func (e *Evaluation) canGo(i int) bool { return e.unsettledNeed(i) < 0 }

// dependencyNotReady says which of the children that a child depends on is not ready, and why; nil where all are.
func (e *Evaluation) dependencyNotReady(i int) *template.Problem {
	for _, j := range e.prog.Children[i].WaitsFor {
		if e.prog.samePairs(i, j) {
			continue // each item waits for the one that it is paired with
		}
		if p := e.notReady(j); p != nil {
			return template.Waiting("waits for %s to be ready: %s", e.prog.Children[j].ID, p.Text()).Under("dependsOn")
		}
	}
	return nil
}

// stop ends a node without any objects.
func (e *Evaluation) stop(i int, p *template.Problem) {
	n := &e.nodes[i]
	n.problem, n.items, n.partial, n.state = p, nil, true, stopped(p)
}

// stopped is the phase of a node that ended with a problem.
func stopped(p *template.Problem) phase {
	if p.Verdict == template.Waits {
		return nodeWaiting
	}
	return nodeFailed
}

// Applied tells what became of a node that Next gave. live are the objects as
// they are now, in the order of Rendered.Objects; nil stands for one that could
// not be brought up to date, which makes readers of the node wait. The objects
// are only read. A node that was not given, or was settled already, is passed
// over.
func (e *Evaluation) Applied(node string, live []*unstructured.Unstructured) {
	i, ok := e.prog.ByID[node]
	if !ok || e.nodes[i].state != nodeRendered {
		return
	}
	n := &e.nodes[i]
	for j := range n.items {
		if n.items[j].fate != fateWritten || len(live) == 0 {
			continue
		}
		n.items[j].live, live = live[0], live[1:]
	}
	e.settle(i)
}

// Delay notes why an object of a node that Next gave is not brought up to date now. What reads the
// node says so. It is called before Applied.
func (e *Evaluation) Delay(node, why string) {
	if i, ok := e.prog.ByID[node]; ok {
		e.nodes[i].delay = why
	}
}

// absent says why a node that is read has no objects yet.
func (n *nodeState) absent(name string) *template.Problem {
	switch {
	case n.state == nodeNotApplied && n.delay != "":
		return template.Waiting("%s is not up to date yet: %s", name, n.delay)
	case n.state == nodeNotApplied:
		return template.Waiting("%s is not up to date yet", name)
	}
	return template.Waiting("%s does not exist yet", name)
}

// settle decides what a rendered node has become.
func (e *Evaluation) settle(i int) {
	n := &e.nodes[i]
	for j := range n.items {
		if n.items[j].live == nil {
			n.state = nodeNotApplied
			return
		}
	}
	if n.partial {
		n.state = stopped(n.problem)
		return
	}
	n.state = nodeApplied
	if !e.prog.Children[i].IsList {
		return
	}
	n.list = make([]any, len(n.items))
	for j := range n.items {
		n.list[j] = n.items[j].live.Object
	}
}

// Outcome says what became of every child and what the status should be. It
// is meant to be called once, when Next gives nothing more.
func (e *Evaluation) Outcome() Outcome {
	e.session.Begin()
	out := Outcome{Nodes: make([]NodeOutcome, len(e.nodes))}
	for i := range e.nodes {
		out.Nodes[i] = e.nodeOutcome(i)
	}
	e.renderPatches(&out)
	e.renderStatus(&out)
	e.renderConditions(&out)
	e.renderEvents(&out)
	out.RequeueAfter = e.duration(e.prog.RequeueAfter, &out)
	out.MinInterval = e.duration(e.prog.MinInterval, &out)
	e.renderDeletion(&out)
	e.renderFinalization(&out)
	out.WakeAt = e.WakeAt()
	return out
}

// WakeAt is the first time at which one of the expressions that were evaluated
// so far gives something else because of now alone, in whole seconds UTC; zero
// where none does. It is part of the Outcome; a caller who stops after Matches
// asks here.
func (e *Evaluation) WakeAt() time.Time { return e.clock.NextChange() }

// OutOfTime says whether an expression was stopped because of Limits.Deadline so
// far. What failed for that may come out otherwise on a machine that is less busy:
// the evaluation is worth another try without any change.
func (e *Evaluation) OutOfTime() bool { return e.session.Late }

func (e *Evaluation) nodeOutcome(i int) NodeOutcome {
	n := &e.nodes[i]
	o := NodeOutcome{ID: e.prog.Children[i].ID, HoldPrune: n.partial, Stalled: n.stalled}
	p := n.problem
	switch n.state {
	case nodeApplied:
		o.State = StateApplied
		p = e.notReady(i)
		o.Ready = p == nil
		o.Failed = p != nil && e.hasFailed(i)
	case nodeSkipped:
		o.State, o.Ready = StateSkipped, true
		switch child := e.prog.Children[i]; {
		case child.Cleanup && !e.finalizing:
			p = &template.Problem{Path: "finalize", Message: "is created while the parent is being deleted"}
		case e.isLeftOut(child):
			p = &template.Problem{Message: e.whySkipped(i)}
		}
	case nodeUncreated:
		o.State, o.Ready = StateSkipped, true
		p = &template.Problem{Path: "createWhen", Message: "is false, and the object does not exist"}
	case nodeFailed:
		o.State = StateFailed
	case nodeWaiting:
		o.State = StateWaiting
	case nodeRendered, nodeNotApplied:
		o.State, o.HoldPrune = StateNotApplied, true
		if p == nil {
			p = template.Failure("could not be brought up to date")
		}
	case nodePending:
		o.State, o.HoldPrune = StateWaiting, true
		need := i
		if first := e.unsettledNeed(i); first >= 0 {
			need = first
		}
		p = template.Waiting("waits for %s", e.prog.Children[need].ID)
	}
	if p != nil {
		o.Problem = problemOf(p)
	}
	return o
}

// unsettledNeed is the first child that i needs and nothing is known of; -1: none.
func (e *Evaluation) unsettledNeed(i int) int {
	child := e.prog.Children[i]
	for _, needs := range [][]int{child.Needs, child.WaitsFor} {
		for _, j := range needs {
			if !e.nodes[j].state.settled() {
				return j
			}
		}
	}
	return -1
}

// duration is what requeueAfter or minInterval says; null and optional.none() say
// nothing.
func (e *Evaluation) duration(d *Duration, out *Outcome) time.Duration {
	switch {
	case d == nil:
		return 0
	case d.Value == nil:
		return d.Constant
	}
	says, p := template.DurationOf(d.Value, &e.base, d.Least)
	if p != nil {
		out.note(p.Under(d.Field))
	}
	return says
}

// Cost is what the expressions have cost so far, in CEL's units, and exceeded the option whose limit ended one of them last.
func (e *Evaluation) Cost() (cost uint64, exceeded string) { return e.session.Cost() }

// Starved reports whether the evaluation was ended because all evaluations together need
// more memory than there is. That is no fault of the rule: nothing that came of the evaluation
// counts, and it is worth another try, for which memory is reserved.
func (e *Evaluation) Starved() bool { return e.session.Starved }

// Reserve waits until there is as much memory as the evaluation can need, or ctx ends.
// It comes before anything is evaluated; the evaluation is not starved then.
func (e *Evaluation) Reserve(ctx context.Context) error {
	return e.session.Budget.Memory.Reserve(ctx) //nolint:wrapcheck // It says what was waited for.
}

// TryReserve is Reserve that does not wait: it tells whether there is as much memory.
func (e *Evaluation) TryReserve() bool { return e.session.Budget.Memory.TryReserve() }

// Close returns the memory of the evaluation to those that share it. Its caller may
// keep what was rendered; nothing may be evaluated any more. It may be called again.
func (e *Evaluation) Close() { e.session.Budget.Memory.Close() }
