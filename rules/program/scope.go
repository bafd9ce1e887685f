package program

import (
	"slices"

	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/rules/celenv/function"
	"kanon.dev/kanon/rules/celenv/run"
	"kanon.dev/kanon/rules/flow"
	"kanon.dev/kanon/rules/program/rendered"
	"kanon.dev/kanon/rules/program/template"
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
	clock *run.Clock
}

// scopeOf is the scope of one item of a body. A body without a forEach has one item, without values.
func (e *Evaluation) scopeOf(b *Body, items []ref.Val, index int) *scope {
	s := &scope{ev: e, body: b, items: items, index: int32(index)} //nolint:gosec // There are not more items than Limits.Children.
	if len(b.Variables) > 0 {
		s.locals = make([]memo, len(b.Variables))
	}
	return s
}

// time is the clock for expressions.
func (s *scope) time() *run.Clock {
	if s.clock != nil {
		return s.clock
	}
	return &s.ev.clock
}

// ownObject is the live object of a child.
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
	problem *template.Problem
}

// Parent implements interpreter.Activation.
func (s *scope) Parent() interpreter.Activation { return nil }

// Session implements template.Scope.
func (s *scope) Session() *template.Session { return &s.ev.session }

// ReadOnly implements template.Scope.
func (s *scope) ReadOnly() bool { return s.readOnly }

// of is the scope in which self is a live object.
func (s *scope) of(live *unstructured.Unstructured) *scope {
	own := *s
	own.self = live.Object
	return &own
}

// ResolveName implements interpreter.Activation.
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
	case run.ClockName:
		return s.time(), true
	case run.BudgetName:
		return &s.ev.session.Budget, true
	case function.RandomSource:
		return &s.ev.random, true
	case function.StatusKindsName:
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

// childrenView is children in expressions.
type childrenView scope

// Member implements run.Members.
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

// skipped is the problem of reading an object that the rule skips.
func skipped(root, id, why string) *template.Problem {
	return &template.Problem{Verdict: template.Skips, Message: root + "." + id + " " + why, Advice: "read it as " + root + ".?" + id}
}

// variablesView is variables in expressions.
type variablesView scope

// Member implements run.Members.
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
		_, kept := rendered.ValueAt(s.own.object, v.Generated)
		inner.readsOwn = kept && len(v.Generated) > 0
		s = &inner
	}
	var p *template.Problem
	if t, ok := v.Value.(template.Expr); ok {
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

// eachView is each in expressions.
type eachView scope

// Member implements celenv.Members.
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
		return nil, false, template.Waiting("each.%s does not exist yet", id)
	}
	live := v.ev.nodes[i].items[at.item-1].live
	if live == nil {
		return nil, false, v.ev.nodes[i].absent("each." + id)
	}
	return live.Object, true, nil
}

// observedView is observed in expressions.
type observedView scope

// Member implements celenv.Members.
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
			return memo{done: true, problem: template.Waiting("observed.%s is not known yet: %s", child.ID, err.Error())}
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
