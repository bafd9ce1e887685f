package program

import (
	"slices"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/rules/celenv"
	"kanon.dev/kanon/rules/flow"
)

// scope resolves the names of expressions in one place of an evaluation. It is CEL's Activation.
type scope struct {
	ev *Evaluation
	// body is the child, lookup or patch; nil outside of these.
	body *Body
	// items are the values of the forEach names.
	items []ref.Val
	// locals memoize the variables of the body.
	locals []memo
	// self is the live object, in expressions that know it, such as readyWhen.
	self map[string]any
	// status is the rendered status or a CEL error, in events.
	status any
	// readOnly is true if what is rendered is only read, as the value of a variable is. It may then share memory with
	// its inputs.
	readOnly bool
	// index is the position of items among all items of the forEach.
	index int32
	// own is the live object whose values the generated variables keep, if it is known. readsOwn is true in the
	// expression of such a variable: observed is then that object.
	own      *ownObject
	readsOwn bool
	// clock replaces the time of the evaluation; usually nil. Variables always see the time of the evaluation, because
	// their values are kept.
	clock *celenv.Clock
}

// scopeOf is the scope of one item of a body. A body without a forEach has one item, without values.
func (e *Evaluation) scopeOf(b *Body, items []ref.Val, index int) *scope {
	s := &scope{ev: e, body: b, items: items, index: int32(index)} //nolint:gosec // There are not more items than Limits.Children.
	if len(b.Variables) > 0 {
		s.locals = make([]memo, len(b.Variables))
	}
	return s
}

func (s *scope) time() *celenv.Clock {
	if s.clock != nil {
		return s.clock
	}
	return &s.ev.clock
}

type ownObject struct {
	child  string
	object map[string]any
}

// memo is the value of a variable, a lookup or an observed child, once it has been read.
type memo struct {
	done bool
	// val is JSON, or the CEL value of a whole expression.
	val     any
	absent  bool
	problem *Problem
}

func (s *scope) Parent() interpreter.Activation { return nil }

func (s *scope) Session() *Session { return &s.ev.session }

func (s *scope) ReadOnly() bool { return s.readOnly }

func (s *scope) of(live *unstructured.Unstructured) *scope {
	own := *s
	own.self = live.Object
	return &own
}

func (s *scope) ResolveName(name string) (any, bool) {
	switch name {
	case flow.RootParent:
		return s.ev.parent, true
	case flow.RootChildren:
		return (*childrenView)(s), true
	case flow.RootLookups:
		return (*lookupsView)(s), true
	case flow.RootObserved:
		return (*observedView)(s), true
	case flow.RootEach:
		return (*eachView)(s), true
	case flow.RootVariables:
		return (*variablesView)(s), true
	case flow.RootSelf:
		return s.self, s.self != nil
	case flow.RootStatus:
		return s.status, s.status != nil
	case flow.RootFinalizing:
		return s.ev.finalizing, true
	case flow.RootNow:
		return s.time().Now(), true
	case celenv.ClockName:
		return s.time(), true
	case celenv.RandomSource:
		return &s.ev.random, true
	case celenv.StatusKindsName:
		return s.ev.prog.StatusKinds, true
	}
	if s.body == nil {
		return nil, false
	}
	for i := range s.items {
		if s.body.ForEach[i].Name == name {
			return s.items[i], true
		}
	}
	return nil, false
}

type childrenView scope

func (v *childrenView) Member(id string) (any, bool, error) {
	i, ok := v.ev.prog.ByID[id]
	if !ok {
		return nil, false, nil
	}
	n := &v.ev.nodes[i]
	switch n.state {
	case nodeApplied:
		if v.ev.prog.Children[i].IsList {
			return n.list, true, nil
		}
		return n.items[0].live.Object, true, nil
	case nodeSkipped:
		if v.ev.prog.Children[i].Cleanup && !v.ev.finalizing {
			return nil, false, skipped("children", id, "exists only while the parent is being deleted")
		}
		return nil, false, skipped("children", id, "is skipped, because "+v.ev.whySkipped(i))
	case nodeUncreated:
		return nil, false, skipped("children", id, neverCreated)
	}
	return nil, false, n.absent("children." + id)
}

const neverCreated = "does not exist and is not created, because its createWhen is false"

func skipped(root, id, why string) *Problem {
	return &Problem{Verdict: Skips, Message: root + "." + id + " " + why, Advice: "read it as " + root + ".?" + id}
}

type variablesView scope

func (v *variablesView) Member(name string) (any, bool, error) {
	s := (*scope)(v)
	var m *memo
	var variable *Variable
	if s.body != nil {
		variable = s.body.Variables[name]
	}
	if variable != nil {
		m = &s.locals[variable.Index]
	} else {
		variable = s.ev.prog.Variables[name]
		if variable == nil {
			return nil, false, nil
		}
		m = &s.ev.variables[variable.Index]
		s = &s.ev.base
	}
	if !m.done {
		present := *s
		present.clock = nil
		m.compute(variable, &present)
	}
	switch {
	case m.problem != nil:
		return nil, false, m.problem
	case m.absent:
		return nil, false, nil
	}
	return m.val, true, nil
}

// compute evaluates a variable. It terminates because the compiler refuses cycles.
func (m *memo) compute(v *Variable, s *scope) {
	m.done = true
	if s.own != nil {
		inner := *s
		_, kept := valueAt(s.own.object, v.Generated)
		inner.readsOwn = kept && len(v.Generated) > 0
		s = &inner
	}
	var p *Problem
	if t, ok := v.Value.(Expr); ok {
		m.val, p = t.X.Eval(s) // CEL's own value is kept: it need not be JSON, nor be copied
	} else {
		reader := *s
		reader.readOnly = true
		m.val, ok, p = s.ev.session.RenderAside(v.Value, &reader)
		m.absent = !ok
	}
	if p != nil {
		m.problem = p.In(flow.RootVariables + "." + v.Name)
	}
}

type eachView scope

func (v *eachView) Member(id string) (any, bool, error) {
	i, ok := v.ev.prog.ByID[id]
	if !ok {
		return nil, false, nil
	}
	at := v.ev.pair(i, v.index)
	switch {
	case at != nil && at.skipped:
		return nil, false, skipped("each", id, "is skipped, because "+v.ev.whySkipped(i))
	case at != nil && at.uncreated:
		return nil, false, skipped("each", id, neverCreated)
	case at == nil || at.item == 0:
		return nil, false, Waiting("each.%s does not exist yet", id)
	}
	live := v.ev.nodes[i].items[at.item-1].live
	if live == nil {
		return nil, false, v.ev.nodes[i].absent("each." + id)
	}
	return live.Object, true, nil
}

type observedView scope

func (v *observedView) Member(id string) (any, bool, error) {
	e := v.ev
	i, ok := e.prog.ByID[id]
	if !ok {
		return nil, false, nil
	}
	if v.readsOwn && v.own.child == id {
		return v.own.object, true, nil
	}
	own := e.ownReads()
	if own.observed == nil {
		own.observed = make([]memo, len(e.nodes))
	}
	m := &own.observed[i]
	if !m.done {
		*m = e.observe(e.prog.Children[i])
	}
	return m.member()
}

// observe reads the live objects of a child: all of a list, or else the newest one.
func (e *Evaluation) observe(child *Child) memo {
	var seen []*unstructured.Unstructured
	if e.reader != nil {
		var err error
		if seen, err = e.reader.Observed(child.ID); err != nil {
			return memo{done: true, problem: Waiting("observed.%s is not known yet: %s", child.ID, err.Error())}
		}
	}
	if child.IsList {
		return memo{done: true, val: sortedObjects(seen)}
	}
	if len(seen) == 0 {
		return memo{done: true, absent: true}
	}
	newest := slices.MaxFunc(seen, func(a, b *unstructured.Unstructured) int {
		at, bt := a.GetCreationTimestamp(), b.GetCreationTimestamp()
		if c := at.Compare(bt.Time); c != 0 {
			return c
		}
		return byName(b, a) // the first by name is the greatest
	})
	return memo{done: true, val: newest.Object}
}

// The scopes of an evaluation that is done are for those who ask how it came out as it did: they render parts of the rule once
// more, or expressions of their own. Nothing is kept for them while the rule is evaluated.

// Revisit renews the budget of a finished evaluation. Call it before the scopes are used.
func (e *Evaluation) Revisit() {
	e.session.Renew()
	e.session.Begin()
}

// RuleScope is the scope of what belongs to no child, such as spec.status.
func (e *Evaluation) RuleScope() Scope {
	s := e.base
	return &s
}

// StatusScope is the scope of spec.events, which can read the rendered status.
func (e *Evaluation) StatusScope(status map[string]any) Scope {
	s := e.base
	s.status = types.WrapErr(Waiting("status has no value yet"))
	if status != nil {
		s.status = status
	}
	return &s
}

// ItemScope is the scope of an object that a child has rendered. index is its item of the forEach. ok is false for any
// other object.
func (e *Evaluation) ItemScope(node string, object *unstructured.Unstructured) (s Scope, index int, ok bool) {
	i, known := e.prog.ByID[node]
	if !known {
		return nil, 0, false
	}
	items, id := e.nodes[i].items, identityOf(object)
	at := slices.IndexFunc(items, func(it item) bool { return it.object != nil && identityOf(it.object) == id })
	if at < 0 {
		return nil, 0, false
	}
	own := items[at].scope
	if live := items[at].live; live != nil {
		own.self = live.Object
	}
	return &own, int(own.index), true
}

// NodeScope is the scope of the item at index of a child, rendered or not. The problem says why it does not exist.
func (e *Evaluation) NodeScope(node string, index int) (Scope, *Problem) {
	i, ok := e.prog.ByID[node]
	if !ok {
		return nil, Failure("there is no child called %q", node)
	}
	child := e.prog.Children[i]
	own := e.scopeOf(&child.Body, nil, 0)
	if child.IsList {
		tuples, p := e.itemsOf(i)
		if p != nil {
			return nil, p
		}
		if index < 0 || index >= len(tuples) {
			return nil, Failure("%s has %d items, and the first is 0", node, len(tuples))
		}
		own = e.scopeOf(&child.Body, tuples[index], index)
	}
	for _, it := range e.nodes[i].items {
		if it.scope.index == own.index && it.live != nil {
			own.self = it.live.Object
		}
	}
	return own, nil
}

// PatchedItem is an item of a patch that sets something.
type PatchedItem struct {
	Scope Scope
	// Index is the item of the patch's forEach.
	Index int
	Contribution
}

// PatchedItems are the rendered items of a patch.
func (e *Evaluation) PatchedItems(patch *Patch) []PatchedItem {
	tuples, p := e.tuples(&patch.Body)
	if p != nil {
		return nil
	}
	var items []PatchedItem
	for at, t := range tuples {
		s := e.scopeOf(&patch.Body, t, at)
		var out PatchResult
		if _, _, p := e.contribute(patch, s, &out); p != nil {
			continue
		}
		for _, c := range out.Contributions {
			items = append(items, PatchedItem{Scope: s, Index: at, Contribution: c})
		}
	}
	return items
}
