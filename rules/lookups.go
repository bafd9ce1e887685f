package rules

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"

	"kanon.dev/kanon/rules/celenv/run"
	"kanon.dev/kanon/rules/flow"
	"kanon.dev/kanon/rules/syntax"
)

// reads are what an evaluation has read that most rules do not. Each part is made
// when it is needed first.
type reads struct {
	// lookups and observed are what was read of the cluster.
	lookups, observed []memo
	// items are those of the children with sameAs, and of the ones that they are
	// paired with.
	items []familyItems
}

func (e *Evaluation) ownReads() *reads {
	if e.reads == nil {
		e.reads = &reads{}
	}
	return e.reads
}

// lookupsView is lookups in expressions.
type lookupsView scope

// Member implements run.Members. What is looked up is asked for once, at the
// first read.
func (v *lookupsView) Member(id string) (any, bool, error) {
	e := v.ev
	l := e.prog.lookups[id]
	if l == nil {
		return nil, false, nil
	}
	own := e.ownReads()
	if own.lookups == nil {
		own.lookups = make([]memo, len(e.prog.lookups))
	}
	m := &own.lookups[l.index]
	if !m.done {
		*m = e.lookUp(l) // which does not come back here: cycles were refused
	}
	return m.member()
}

// member is a memo's value, as that of a member that can be null.
func (m *memo) member() (any, bool, error) {
	switch {
	case m.problem != nil:
		return nil, false, m.problem
	case m.absent:
		return run.Null{}, true, nil
	}
	return m.val, true, nil
}

// lookUp finds what a lookup gives: an object, or a list of them.
func (e *Evaluation) lookUp(l *compiledLookup) memo {
	if len(l.forEach) > 0 {
		return e.lookUpItems(l)
	}
	found := e.lookUpOne(l, &scope{ev: e, body: &l.body, locals: newMemos(&l.body)})
	switch {
	case found.problem != nil:
		return memo{done: true, problem: found.problem}
	case found.skipped && !l.optional:
		return memo{done: true, problem: &problem{
			verdict: skips,
			message: fmt.Sprintf("lookups.%s is skipped, because its when is false; read it as lookups.?%s", l.ID, l.ID),
		}}
	case found.skipped || found.absent:
		return memo{done: true, absent: true}
	case l.name == nil:
		return memo{done: true, val: sortedObjects(found.objects)}
	}
	return memo{done: true, val: found.objects[0].Object}
}

// found is what one item of a lookup came to.
type found struct {
	objects         []*unstructured.Unstructured
	skipped, absent bool
	problem         *problem
}

// lookUpItems finds what a lookup with a forEach gives: with a name the object of
// each item, in the order of the items, with a selector the objects of all items,
// each once.
func (e *Evaluation) lookUpItems(l *compiledLookup) memo {
	tuples, p := e.tuples(&l.body)
	if p != nil {
		return memo{done: true, problem: p.in(flow.RootLookups + "." + l.ID)}
	}
	var objects []*unstructured.Unstructured
	var first *problem
	for _, t := range tuples {
		if p := e.overdue(); p != nil {
			return memo{done: true, problem: failure("%s.%s %s", flow.RootLookups, l.ID, p.message)}
		}
		one := e.lookUpOne(l, &scope{ev: e, body: &l.body, items: t, locals: newMemos(&l.body)})
		if p := one.problem; p != nil && (first == nil || first.verdict == waits && p.verdict != waits) {
			first = p // a failure needs someone to do something
		}
		objects = append(objects, one.objects...)
		if p := e.fewFound(l, objects); p != nil { // those of all items together could fill any memory
			first = p
			break
		}
	}
	switch {
	case first != nil:
		return memo{done: true, problem: first}
	case l.name == nil:
		return memo{done: true, val: sortedObjects(objects)}
	}
	list := make([]any, len(objects))
	for i, o := range objects {
		list[i] = o.Object
	}
	return memo{done: true, val: list}
}

// lookUpOne finds the objects of one item of a lookup.
func (e *Evaluation) lookUpOne(l *compiledLookup, s *scope) found {
	if l.when != nil {
		ok, p := l.when.isTrue(s)
		if p != nil {
			return found{problem: p.in(l.place("when"))}
		}
		if !ok {
			return found{skipped: true}
		}
	}
	if found, missing := e.lookUpMissing(l); missing {
		return found
	}
	q, p := e.query(l, s)
	if p != nil {
		return found{problem: p}
	}
	var objects []*unstructured.Unstructured
	if e.reader != nil {
		var err error
		if objects, err = e.reader.Lookup(q); err != nil {
			return found{problem: waiting("lookups.%s is not known yet: %s", l.ID, err.Error())}
		}
	}
	if q.Name == "" {
		return found{objects: objects, problem: e.fewFound(l, objects)}
	}
	switch {
	case len(objects) > 0:
		return found{objects: objects[:1]}
	case l.optional:
		return found{absent: true}
	}
	if l.private {
		return found{problem: waiting("lookups.%s does not exist yet: %s %s", l.ID, l.GVK.Kind, notShown)}
	}
	name := q.Name
	if q.Namespace != "" {
		name = q.Namespace + "/" + name
	}
	return found{problem: waiting("lookups.%s does not exist yet: %s %q", l.ID, l.GVK.Kind, name)}
}

// fewFound holds what a lookup gives to the length of a list.
func (e *Evaluation) fewFound(l *compiledLookup, objects []*unstructured.Unstructured) *problem {
	if p := e.prog.limits.list(len(objects)); p != nil {
		return failure("%s.%s %s", flow.RootLookups, l.ID, p.message)
	}
	return nil
}

// place names a field of a lookup in messages.
func (l *compiledLookup) place(field string) string {
	if l.where != "" {
		return l.where + "." + field
	}
	return flow.RootLookups + "." + l.ID + "." + field
}

// query is what one item of a lookup asks for. What is rendered never widens it:
// only what the rule says without an expression means all.
func (e *Evaluation) query(l *compiledLookup, s *scope) (Query, *problem) {
	q := Query{Lookup: l.ID, GVK: l.GVK, AllNamespaces: l.all && l.Namespaced, Selector: l.fixed}
	if p := e.queryNamespace(l, s, &q); p != nil {
		return q, p.in(l.place("namespace"))
	}
	if l.name != nil {
		name, ok, p := renderText(l.name, s)
		switch {
		case p != nil:
		case !ok:
			p = failure("the name has no value").advising("give the lookup a when")
		default:
			p = e.checkRendered("name", name, syntax.IsPathSegment)
		}
		if p != nil {
			return q, p.in(l.place("name"))
		}
		q.Name = name
		return q, nil
	}
	if l.selector == nil {
		return q, nil
	}
	val, _, p := l.selector.render(s)
	if p == nil {
		q.Selector, p = e.renderedSelector(val)
	}
	if p != nil {
		return q, p.at().in(l.place("selector"))
	}
	return q, nil
}

// queryNamespace fills in the namespace of a query: what the rule says, or else
// the parent's.
func (e *Evaluation) queryNamespace(l *compiledLookup, s *scope, q *Query) *problem {
	if !l.Namespaced || q.AllNamespaces {
		return nil
	}
	if l.namespace != nil {
		namespace, ok, p := renderText(l.namespace, s)
		if p != nil {
			return p
		}
		if ok {
			q.Namespace = namespace
			return e.checkRendered("namespace", namespace, validation.IsDNS1123Label)
		}
	}
	q.Namespace = e.object.GetNamespace()
	if q.Namespace == "" && !e.prog.parent.Namespaced {
		return failure("the namespace is needed, because the parent is cluster-scoped")
	}
	return nil
}

// at moves the path of a problem into its message.
func (p *problem) at() *problem {
	moved := *p
	if p.path != "" {
		moved.path, moved.message = "", p.path+": "+p.message
	}
	return &moved
}

// renderText renders a string; false where it is left out.
func renderText(t template, s *scope) (string, bool, *problem) {
	val, ok, p := t.render(s)
	if p != nil || !ok || val == nil {
		return "", false, p
	}
	text, isText := val.(string)
	if !isText {
		return "", false, failure("this must be a string, and is %s", jsonType(val)).advising("make it one with string(…)")
	}
	return text, true, nil
}

// checkRendered says what is wrong with a name that was rendered.
func (e *Evaluation) checkRendered(what, name string, check func(string) []string) *problem {
	if name == "" {
		return failure("the %s is empty", what)
	}
	if wrong := check(name); len(wrong) > 0 {
		return failure("the %s %s is not one that Kubernetes accepts", what, e.shown(name))
	}
	return nil
}

// renderedSelector makes a selector of what was rendered. One that would select
// all has failed.
func (e *Evaluation) renderedSelector(val any) (labels.Selector, *problem) {
	fields, ok := val.(map[string]any)
	if !ok {
		return nil, failure("the selector must be a map with matchLabels or matchExpressions, and is %s", jsonType(val))
	}
	var spec metav1.LabelSelector
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(fields, &spec, true); err != nil {
		return nil, failure("this is no selector: %s", e.selectorError(err))
	}
	selector, err := metav1.LabelSelectorAsSelector(&spec)
	if err != nil {
		return nil, failure("this is no selector: %s", e.selectorError(err))
	}
	if selector.Empty() {
		return nil, failure("the selector is empty, which would select all; to select all, write selector: {}")
	}
	return selector, nil
}

// selectorError is what is wrong with a selector, without the rules for labels
// that Kubernetes adds.
func (e *Evaluation) selectorError(err error) string {
	if e.prog.secrets {
		return notShown
	}
	text, _, _ := strings.Cut(err.Error(), ": a valid label")
	return strings.TrimPrefix(text, "strict decoding error: ")
}

// sortedObjects are objects by namespace and name, each once, as a list of JSON.
func sortedObjects(objects []*unstructured.Unstructured) []any {
	sorted := slices.SortedFunc(slices.Values(objects), byName)
	sorted = slices.CompactFunc(sorted, func(a, b *unstructured.Unstructured) bool { return byName(a, b) == 0 })
	list := make([]any, len(sorted))
	for i, o := range sorted {
		list[i] = o.Object
	}
	return list
}

// byName orders objects of one kind by namespace and name.
func byName(a, b *unstructured.Unstructured) int {
	if c := strings.Compare(a.GetNamespace(), b.GetNamespace()); c != 0 {
		return c
	}
	return strings.Compare(a.GetName(), b.GetName())
}

// compiledLookup is a node of spec.lookups.
type compiledLookup struct {
	Lookup
	body
	index    int
	optional bool
	// name and selector are templates of which one is given; a selector without
	// expressions is in fixed, and in Lookup.Selector.
	name, selector template
	// namespace is nil where it is left out, and with all.
	namespace template
	all       bool
	fixed     labels.Selector
	// private is true where something of a Secret says what is looked up.
	private bool
	// where is the place in messages, for what is no lookup but found as one.
	where string
}
