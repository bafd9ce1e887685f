package program

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"kanon.dev/kanon/rules/celenv"
	"kanon.dev/kanon/rules/flow"
	"kanon.dev/kanon/rules/syntax"
)

// reads is what most rules do not read. Each part is created when it is first needed.
type reads struct {
	// lookups and observed are the answers of the Reader.
	lookups, observed []memo
	// items belong to the children with sameAs and to those whose items they share.
	items []familyItems
}

func (e *Evaluation) ownReads() *reads {
	if e.reads == nil {
		e.reads = &reads{}
	}
	return e.reads
}

type lookupsView scope

// Member implements celenv.Members. A lookup is read once, when something first needs it.
func (v *lookupsView) Member(id string) (any, bool, error) {
	e := v.ev
	l := e.prog.LookupByID[id]
	if l == nil {
		return nil, false, nil
	}
	own := e.ownReads()
	if own.lookups == nil {
		own.lookups = make([]memo, len(e.prog.Lookups))
	}
	m := &own.lookups[l.Index]
	if !m.done {
		*m = e.lookUp(l) // which does not come back here: cycles were refused
	}
	return m.member()
}

func (m *memo) member() (any, bool, error) {
	switch {
	case m.problem != nil:
		return nil, false, m.problem
	case m.absent:
		return celenv.Null{}, true, nil
	}
	return m.val, true, nil
}

func (e *Evaluation) lookUp(l *Lookup) memo {
	if len(l.ForEach) > 0 {
		return e.lookUpItems(l)
	}
	found := e.lookUpOne(l, e.scopeOf(&l.Body, nil, 0))
	switch {
	case found.problem != nil:
		return memo{done: true, problem: found.problem}
	case found.skipped && !l.Optional:
		return memo{done: true, problem: &Problem{
			Verdict: Skips,
			Message: fmt.Sprintf("lookups.%s is skipped, because its when is false; read it as lookups.?%s", l.ID, l.ID),
		}}
	case found.skipped || found.absent:
		return memo{done: true, absent: true}
	case l.NameFrom == nil:
		return memo{done: true, val: sortedObjects(found.objects)}
	}
	return memo{done: true, val: found.objects[0].Object}
}

type found struct {
	objects         []*unstructured.Unstructured
	skipped, absent bool
	problem         *Problem
}

// lookUpItems evaluates a lookup with a forEach. With a name, it gives the object of each item in the order of the
// items; with a selector, the objects of all items, each once.
func (e *Evaluation) lookUpItems(l *Lookup) memo {
	tuples, p := e.tuples(&l.Body)
	if p != nil {
		return memo{done: true, problem: p.In(flow.RootLookups + "." + l.ID)}
	}
	var objects []*unstructured.Unstructured
	var first *Problem
	for at, t := range tuples {
		if p := e.session.Overdue(); p != nil {
			return memo{done: true, problem: Failure("%s.%s %s", flow.RootLookups, l.ID, p.Message)}
		}
		one := e.lookUpOne(l, e.scopeOf(&l.Body, t, at))
		if one.problem.Outweighs(first) {
			first = one.problem
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
	case l.NameFrom == nil:
		return memo{done: true, val: sortedObjects(objects)}
	}
	return memo{done: true, val: contents(objects)}
}

func (e *Evaluation) lookUpOne(l *Lookup, s *scope) found {
	if l.When != nil {
		ok, p := l.When.IsTrue(s)
		if p != nil {
			return found{problem: p.In(l.place("when"))}
		}
		if !ok {
			return found{skipped: true}
		}
	}
	if p := e.checkKind(l.GVK); p != nil {
		if e.isLeftOut(l.GVK, l.Optional) {
			return found{absent: l.NameFrom != nil}
		}
		return found{problem: p.In(flow.RootLookups + "." + l.ID)}
	}
	q, p := e.query(l, s)
	if p != nil {
		return found{problem: p}
	}
	var objects []*unstructured.Unstructured
	if e.reader != nil {
		var err error
		if objects, err = e.reader.Lookup(q); err != nil {
			return found{problem: Waiting("lookups.%s is not known yet: %s", l.ID, err.Error())}
		}
	}
	switch {
	case q.Name == "":
		return found{objects: objects, problem: e.fewFound(l, objects)}
	case len(objects) > 0:
		return found{objects: objects[:1]}
	case l.Optional:
		return found{absent: true}
	case l.Private:
		return found{problem: Waiting("lookups.%s does not exist yet: %s %s", l.ID, l.GVK.Kind, NotShown)}
	}
	name := q.Name
	if q.Namespace != "" {
		name = q.Namespace + "/" + name
	}
	return found{problem: Waiting("lookups.%s does not exist yet: %s %q", l.ID, l.GVK.Kind, name)}
}

func (e *Evaluation) fewFound(l *Lookup, objects []*unstructured.Unstructured) *Problem {
	if p := e.session.List(len(objects)); p != nil {
		return Failure("%s.%s %s", flow.RootLookups, l.ID, p.Message)
	}
	return nil
}

func (l *Lookup) place(field string) string {
	if l.Place != "" {
		return l.Place + "." + field
	}
	return flow.RootLookups + "." + l.ID + "." + field
}

// query is the query for one item of a lookup. A rendered value never widens it: only what the rule says without an
// expression can select everything.
func (e *Evaluation) query(l *Lookup, s *scope) (Query, *Problem) {
	q := Query{Lookup: l.ID, GVK: l.GVK, Target: Target{AllNamespaces: l.AllNamespaces && l.Namespaced, Selector: l.Selector}}
	var p *Problem
	if q.Namespace, p = e.queryNamespace(l, s); p != nil {
		return q, p.In(l.place("namespace"))
	}
	switch {
	case l.NameFrom != nil:
		if q.Name, p = NameOf(l.NameFrom, s, "name", syntax.IsPathSegment); p == nil && q.Name == "" {
			p = Failure("the name has no value").Advising("give the lookup a when")
		}
		if p != nil {
			return q, p.In(l.place("name"))
		}
	case l.SelectorFrom != nil:
		if q.Selector, p = SelectorOf(l.SelectorFrom, s); p != nil {
			return q, p.In(l.place("selector"))
		}
	}
	return q, nil
}

func (e *Evaluation) queryNamespace(l *Lookup, s *scope) (string, *Problem) {
	if !l.Namespaced || l.AllNamespaces {
		return "", nil
	}
	if l.NamespaceFrom != nil {
		if namespace, p := NameOf(l.NamespaceFrom, s, "namespace", validation.IsDNS1123Label); p != nil || namespace != "" {
			return namespace, p
		}
	}
	namespace := e.object.GetNamespace()
	if namespace == "" && !e.prog.Parent.Namespaced {
		return "", Failure("the namespace is needed, because the parent is cluster-scoped")
	}
	return namespace, nil
}

func contents(objects []*unstructured.Unstructured) []any {
	list := make([]any, len(objects))
	for i, o := range objects {
		list[i] = o.Object
	}
	return list
}

// sortedObjects are objects by namespace and name, each once, as a list of JSON.
func sortedObjects(objects []*unstructured.Unstructured) []any {
	sorted := slices.SortedFunc(slices.Values(objects), byName)
	sorted = slices.CompactFunc(sorted, func(a, b *unstructured.Unstructured) bool { return byName(a, b) == 0 })
	return contents(sorted)
}

func byName(a, b *unstructured.Unstructured) int {
	return cmp.Or(strings.Compare(a.GetNamespace(), b.GetNamespace()), strings.Compare(a.GetName(), b.GetName()))
}

// skipMissing settles the optional children whose kind is known to be missing: they
// are skipped, and neither their when nor their forEach is evaluated.
func (e *Evaluation) skipMissing() {
	if len(e.missing) == 0 {
		return
	}
	for i, child := range e.prog.Children {
		if !e.isLeftOut(child.GVK, child.Optional) || e.nodes[i].state != nodePending {
			continue
		}
		n := &e.nodes[i]
		if n.state = nodeSkipped; child.IsList { // readers get a list, which lacks what is skipped
			n.state, n.list = nodeApplied, []any{}
		}
	}
}

// isLeftOut reports whether a child, a patch or a lookup is skipped because its kind is missing.
func (e *Evaluation) isLeftOut(gvk schema.GroupVersionKind, optional bool) bool {
	absence, missing := e.missing[gvk]
	return missing && optional && absence.Certain
}

func (e *Evaluation) whySkipped(i int) string {
	if child := e.prog.Children[i]; e.isLeftOut(child.GVK, child.Optional) {
		return e.missing[child.GVK].Message
	}
	return "its when is false"
}

// checkKind is the problem of a node whose kind is missing; nil if the kind exists. The arrival of the kind ends it.
func (e *Evaluation) checkKind(gvk schema.GroupVersionKind) *Problem {
	if absence, missing := e.missing[gvk]; missing {
		return &Problem{Verdict: Waits, KindMissing: true, Message: absence.Message}
	}
	return nil
}
