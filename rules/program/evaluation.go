package program

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/rules/celenv"
	"kanon.dev/kanon/rules/syntax"
)

// Evaluation is one evaluation of a rule for one parent, driven by its caller; see the package comment. It does no I/O, holds
// no lock and is not safe for concurrent use.
type Evaluation struct {
	prog   *Program
	object *unstructured.Unstructured
	parent map[string]any
	reader Reader
	// clock is now. It records when what was computed from it changes.
	clock  celenv.Clock
	random celenv.Random
	// finalizing and missing are as in Input.
	finalizing bool
	missing    map[schema.GroupVersionKind]Absence
	// base is the scope of everything outside of children.
	base      scope
	variables []memo
	nodes     []nodeState
	// reads is nil until it is needed.
	reads *reads
	// session is shared by all expressions. rendered is the number of children so far.
	session  Session
	rendered int
	// claimed maps each rendered object to the index of its child.
	claimed map[identity]int
	// deletions are the policies of rendered objects, if they are not Delete in both cases.
	deletions map[identity]Ending
	// ignores are the fields of rendered objects that are left to others because a condition holds.
	ignores map[identity][]syntax.IgnorePath
}

// phase is the progress of a node. It only goes forward.
type phase uint8

const (
	nodePending phase = iota
	// nodeRendered waits for the caller to report the writes.
	nodeRendered
	nodeApplied
	nodeSkipped
	// nodeUncreated has no object, and createWhen prevents its creation.
	nodeUncreated
	nodeWaiting
	nodeFailed
	nodeNotApplied
)

func (p phase) settled() bool { return p >= nodeApplied }

// nodeState is the state of one child in one evaluation.
type nodeState struct {
	state phase
	// problem is why the node waits or failed. In a list, the first failure counts, or else the first item that waits.
	problem *Problem
	// partial is true if items are left out because of a problem.
	partial bool
	items   []item
	// awaits is the dependency that is not ready. While it is set, an object is written only if it is rendered as it
	// was last applied.
	awaits *Problem
	// uncreated are rendered objects whose creation createWhen prevents.
	uncreated []*unstructured.Unstructured
	// list has the live objects of a forEach.
	list []any
	// leftOut is one more than the index of the first item that is left out. missing is the number of such items.
	leftOut int32
	missing int
	// delay is why an object is not brought up to date now; empty if the caller gave no reason.
	delay string
	// rollingOut is what a rollout waits for. stalled is true if it waits in vain.
	rollingOut *Problem
	stalled    bool
	// readyKnown is true once notReady has the answer.
	readyKnown bool
	notReady   *Problem
}

// item is one object of a node.
type item struct {
	scope  scope
	object *unstructured.Unstructured
	live   *unstructured.Unstructured
	// fate is what happens to the object. live is set from the start unless the object is written.
	fate fate
	// fresh are the generated fields that the live object lacks, and kept those that it has.
	fresh, kept [][]string
	// recreation is whether the live object is recreated.
	recreation Recreation
	// before is the live object, if it was read. held is true if a rollout leaves it as it is for now.
	before *unstructured.Unstructured
	held   bool
	// awaits is true for a live object of which a dependency is not ready. postponed is true if it will be changed once
	// the dependency is ready.
	awaits, postponed bool
}

// fate is what happens to an item.
type fate uint8

const (
	// fateWritten: the object is brought up to date.
	fateWritten fate = iota
	// fateKept: the object exists, and is left as it is.
	fateKept
	// fateUncreated: the object does not exist, and createWhen prevents its creation.
	fateUncreated
)

// Evaluate starts an evaluation. ctx bounds the time of expressions; the input is only read.
func (p *Program) Evaluate(ctx context.Context, in Input) *Evaluation {
	ev := &Evaluation{
		prog: p, object: in.Parent, parent: in.Parent.Object, reader: in.Reader, clock: celenv.NewClock(in.Now),
		finalizing: in.Finalizing, missing: in.Missing,
		session:   NewSession(ctx, p.Limits, in.Memory, p.HasSecrets),
		variables: make([]memo, len(p.Variables)),
		nodes:     make([]nodeState, len(p.Children)),
		claimed:   make(map[identity]int, len(p.Children)+1),
	}
	ev.base.ev, ev.random.Source = ev, in.Random
	ev.claimed[identityOf(in.Parent)] = parentClaim
	for i, child := range p.Children {
		if child.Cleanup && !in.Finalizing {
			ev.nodes[i].state = nodeSkipped
		}
	}
	ev.skipMissing()
	return ev
}

// Matches reports whether spec.parent.when selects the parent. The error, a *MatchError, says why that is not known.
func (e *Evaluation) Matches() (bool, error) {
	e.session.Begin()
	if e.prog.Parent.When == nil {
		return true, nil
	}
	ok, p := e.prog.Parent.When.IsTrue(&e.base)
	if p == nil {
		return ok, nil
	}
	return false, &MatchError{*p.Under("spec.parent.when")}
}

// MatchError is why it is not known whether a rule applies to a parent.
type MatchError struct{ Problem }

// Next returns every node that can be written now, each after those that it needs. A node is returned once, and may
// have no objects. The batch is empty once nothing more can be written, and if the evaluation is OutOfMemory.
func (e *Evaluation) Next() []Rendered {
	e.session.Begin()
	var batch []Rendered
	for _, i := range e.prog.Order {
		n := &e.nodes[i]
		if n.state != nodePending || e.unsettledNeed(i) >= 0 {
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
	if e.session.OutOfMemory {
		return nil
	}
	return batch
}

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
			out.Postponed = append(out.Postponed, it.object)
		}
		if it.fate != fateWritten {
			out.Kept = append(out.Kept, it.object)
			if it.postponed {
				out.Awaiting = append(out.Awaiting, Awaiting{Object: it.object, Recreation: it.recreation})
			}
			continue
		}
		out.Objects, out.items = append(out.Objects, it.object), append(out.items, it)
	}
	return out
}

// dependencyNotReady returns the first child that i depends on and that is not ready, and why; nil if all are ready.
func (e *Evaluation) dependencyNotReady(i int) *Problem {
	for _, j := range e.prog.Children[i].WaitsFor {
		if e.prog.samePairs(i, j) {
			continue // each item waits for the one that it is paired with
		}
		if p := e.notReady(j); p != nil {
			return Waiting("waits for %s to be ready: %s", e.prog.Children[j].ID, p.Text()).Under("dependsOn")
		}
	}
	return nil
}

func (e *Evaluation) stop(i int, p *Problem) {
	n := &e.nodes[i]
	n.problem, n.items, n.partial, n.state = p, nil, true, stopped(p)
}

func stopped(p *Problem) phase {
	if p.Verdict == Waits {
		return nodeWaiting
	}
	return nodeFailed
}

// Applied reports the writes of a node from Next. live are the objects as they are now, in the order of
// Rendered.Objects. They are only read. nil stands for an object that could not be brought up to date, for which
// readers of the node wait. Applied ignores other nodes, and those that are settled.
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

// Delay says why an object of a node from Next is not brought up to date now, for the messages of what reads the node.
// It is called before Applied.
func (e *Evaluation) Delay(node, why string) {
	if i, ok := e.prog.ByID[node]; ok {
		e.nodes[i].delay = why
	}
}

func (n *nodeState) absent(name string) *Problem {
	switch {
	case n.state == nodeNotApplied && n.delay != "":
		return Waiting("%s is not up to date yet: %s", name, n.delay)
	case n.state == nodeNotApplied:
		return Waiting("%s is not up to date yet", name)
	}
	return Waiting("%s does not exist yet", name)
}

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

// Result returns the state of every child, and what to report on the parent. Call it once, after Next has returned an
// empty batch.
func (e *Evaluation) Result() Result {
	e.session.Begin()
	out := Result{Nodes: make([]NodeResult, len(e.nodes))}
	for i := range e.nodes {
		out.Nodes[i] = e.nodeResult(i)
	}
	e.renderPatches(&out)
	e.renderStatus(&out)
	e.renderConditions(&out)
	e.renderEvents(&out)
	out.RequeueAfter = e.duration(e.prog.RequeueAfter, &out)
	out.MinInterval = e.duration(e.prog.MinInterval, &out)
	e.renderDeletion(&out)
	e.renderFinalization(&out)
	out.ReevaluateAt = e.ReevaluateAt()
	return out
}

// ReevaluateAt is the first time at which an expression that was evaluated gives another value because of now alone, in whole
// seconds UTC; zero if none does. It is part of the Result; a caller that stops after Matches reads it here.
func (e *Evaluation) ReevaluateAt() time.Time { return e.clock.NextChange() }

// OutOfTime reports whether an expression was stopped by Limits.Deadline. It may succeed when the machine is less busy,
// so the evaluation is worth another try without any change.
func (e *Evaluation) OutOfTime() bool { return e.session.Late }

func (e *Evaluation) nodeResult(i int) NodeResult {
	n := &e.nodes[i]
	o := NodeResult{ID: e.prog.Children[i].ID, BlocksPrune: n.partial, Stalled: n.stalled}
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
			p = &Problem{Path: "finalize", Message: "is created while the parent is being deleted"}
		case e.isLeftOut(child.GVK, child.Optional):
			p = &Problem{Message: e.whySkipped(i)}
		}
	case nodeUncreated:
		o.State, o.Ready = StateSkipped, true
		p = &Problem{Path: "createWhen", Message: "is false, and the object does not exist"}
	case nodeFailed:
		o.State = StateFailed
	case nodeWaiting:
		o.State = StateWaiting
	case nodeRendered, nodeNotApplied:
		o.State, o.BlocksPrune = StateNotApplied, true
		if p == nil {
			p = Failure("could not be brought up to date")
		}
	case nodePending:
		o.State, o.BlocksPrune = StateWaiting, true
		need := e.unsettledNeed(i)
		if need < 0 {
			need = i
		}
		p = Waiting("waits for %s", e.prog.Children[need].ID)
	}
	if p != nil {
		o.Problem = *p
	}
	return o
}

// unsettledNeed is the first child that i needs and that is not settled; -1 if there is none.
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

// duration evaluates requeueAfter or minInterval; zero for null and optional.none().
func (e *Evaluation) duration(d *Duration, out *Result) time.Duration {
	switch {
	case d == nil:
		return 0
	case d.Value == nil:
		return d.Constant
	}
	says, p := DurationOf(d.Value, &e.base, d.Least)
	if p != nil {
		out.note(p.Under(d.Field))
	}
	return says
}

// Cost is the cost of all expressions so far, in CEL's units. exceeded is the option whose limit last stopped one.
func (e *Evaluation) Cost() (cost uint64, exceeded string) { return e.session.Cost() }

// OutOfMemory reports whether the evaluation ended because all evaluations together need more memory than there is. The
// rule is not at fault: discard the results and try again with Reserve.
func (e *Evaluation) OutOfMemory() bool { return e.session.OutOfMemory }

// Reserve waits until the memory that the evaluation can need is free, or ctx ends. Call it before anything is
// evaluated; the evaluation cannot be starved then.
func (e *Evaluation) Reserve(ctx context.Context) error {
	return e.session.Budget.Memory.Reserve(ctx) //nolint:wrapcheck // It says what was waited for.
}

// TryReserve is Reserve without waiting: it reports whether the memory was free.
func (e *Evaluation) TryReserve() bool { return e.session.Budget.Memory.TryReserve() }

// Close returns the memory of the evaluation. The caller may keep what was rendered, but must evaluate nothing more.
// Close may be called again.
func (e *Evaluation) Close() { e.session.Budget.Memory.Close() }
