package rules

import (
	"strings"

	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"

	"kanon.dev/kanon/rules/celenv/function"
	"kanon.dev/kanon/rules/celenv/run"
	"kanon.dev/kanon/rules/flow"
)

// scope resolves the names of expressions in one place of one evaluation. It
// is CEL's Activation.
type scope struct {
	ev *Evaluation
	// body is the child's or the lookup's; nil outside of both.
	body *body
	// items are the values of the forEach names.
	items []ref.Val
	// locals memoise the variables of the child or lookup.
	locals []memo
	// self is the live object, in readyWhen.
	self map[string]any
	// status is what was rendered, or an error of CEL's, in events.
	status any
	// readOnly is true where what is rendered will only be read, as a variable's
	// value is: it may then share memory with what it is made of.
	readOnly bool
	// index says which of all items of the forEach items are.
	index int32
	// own is the live object whose values the generated variables keep, where it is known, and
	// readsOwn is true in the expression of such a variable: observed is then that object.
	own      *ownObject
	readsOwn bool
	// clock is another time than that of the evaluation; nil where it is that. Variables see
	// that of the evaluation always: their values are kept.
	clock *run.Clock
}

// time is the clock that expressions see.
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

// memo is a variable's value once it has been asked for.
type memo struct {
	done bool
	// val is JSON, or what CEL made of one whole expression.
	val     any
	absent  bool
	problem *problem
}

// Parent implements interpreter.Activation.
func (s *scope) Parent() interpreter.Activation { return nil }

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
		return &s.ev.budget, true
	case function.RandomSource:
		return &s.ev.random, true
	case function.StatusKindsName:
		return s.ev.prog.statusKinds, true
	}
	if s.body == nil {
		return nil, false
	}
	for i := range s.items {
		if s.body.forEach[i].name == name {
			return s.items[i], true
		}
	}
	return nil, false
}

// childrenView is children in expressions.
type childrenView scope

// Member implements run.Members.
func (v *childrenView) Member(id string) (any, bool, error) {
	i, ok := v.ev.prog.byID[id]
	if !ok {
		return nil, false, nil
	}
	n := &v.ev.nodes[i]
	switch n.state {
	case nodeApplied:
		if v.ev.prog.children[i].ForEach {
			return n.list, true, nil
		}
		return n.items[0].live.Object, true, nil
	case nodeSkipped:
		if v.ev.prog.children[i].Cleanup && !v.ev.finalizing {
			return nil, false, &problem{verdict: skips, message: "children." + id + " exists only while the parent is being deleted", advice: "read it as children.?" + id}
		}
		return nil, false, &problem{verdict: skips, message: "children." + id + " is skipped, because " + v.ev.whySkipped(i), advice: "read it as children.?" + id}
	case nodeUncreated:
		return nil, false, &problem{verdict: skips, message: "children." + id + " does not exist and is not created, because its createWhen is false", advice: "read it as children.?" + id}
	}
	return nil, false, n.absent("children." + id)
}

// variablesView is variables in expressions.
type variablesView scope

// Member implements run.Members.
func (v *variablesView) Member(name string) (any, bool, error) {
	s := (*scope)(v)
	var m *memo
	var variable *compiledVariable
	if s.body != nil {
		variable = s.body.locals[name]
	}
	if variable != nil {
		m = &s.locals[variable.index]
	} else {
		variable = s.ev.prog.variables[name]
		if variable == nil {
			return nil, false, nil
		}
		m = &s.ev.variables[variable.index]
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

// compute gives a variable its value. Cycles were refused by the compiler, so
// this ends.
func (m *memo) compute(v *compiledVariable, s *scope) {
	m.done = true
	if s.own != nil {
		inner := *s
		_, kept := valueAt(s.own.object, v.generated)
		inner.readsOwn = kept && len(v.generated) > 0
		s = &inner
	}
	if t, ok := v.value.(exprTemplate); ok {
		// CEL's own value is kept: it need not be JSON, nor be copied.
		val, p := t.x.eval(s)
		if p != nil {
			m.problem = p.in(flow.RootVariables + "." + v.name)
			return
		}
		m.val = val
		return
	}
	reader := *s
	reader.readOnly = true
	room, drafted := s.ev.room, s.ev.drafted
	s.ev.drafted = 0
	s.ev.makeRoom()
	val, ok, p := v.value.render(&reader)
	s.ev.room, s.ev.drafted = room, drafted // what was drafted for the variable stays
	if p != nil {
		m.problem = p.in(flow.RootVariables + "." + v.name)
		return
	}
	m.val, m.absent = val, !ok
}

// in names the variable, or the part of a lookup, in which a problem arose. Of a long
// way to it the beginning says enough.
func (p *problem) in(place string) *problem {
	const most = 3
	if strings.Count(p.message, " (in ") >= most {
		return p
	}
	return &problem{verdict: p.verdict, message: p.message + " (in " + place + ")", advice: p.advice, missing: p.missing}
}
