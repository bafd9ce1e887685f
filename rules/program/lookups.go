package program

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"

	"kanon.dev/kanon/rules/celenv/run"
	"kanon.dev/kanon/rules/flow"
	"kanon.dev/kanon/rules/naming"
	"kanon.dev/kanon/rules/program/template"
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

// lookupsView is lookups in expressions.
type lookupsView scope

// Member implements run.Members. A lookup is read once, when something first needs it.
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

// member is the value of a memo that can be null.
func (m *memo) member() (any, bool, error) {
	switch {
	case m.problem != nil:
		return nil, false, m.problem
	case m.absent:
		return run.Null{}, true, nil
	}
	return m.val, true, nil
}

// lookUp evaluates a lookup to an object or a list of objects.
func (e *Evaluation) lookUp(l *Lookup) memo {
	if len(l.ForEach) > 0 {
		return e.lookUpItems(l)
	}
	found := e.lookUpOne(l, e.scopeOf(&l.Body, nil, 0))
	switch {
	case found.problem != nil:
		return memo{done: true, problem: found.problem}
	case found.skipped && !l.Optional:
		return memo{done: true, problem: &template.Problem{
			Verdict: template.Skips,
			Message: fmt.Sprintf("lookups.%s is skipped, because its when is false; read it as lookups.?%s", l.ID, l.ID),
		}}
	case found.skipped || found.absent:
		return memo{done: true, absent: true}
	case l.NameFrom == nil:
		return memo{done: true, val: sortedObjects(found.objects)}
	}
	return memo{done: true, val: found.objects[0].Object}
}

// found is the result of one item of a lookup.
type found struct {
	objects         []*unstructured.Unstructured
	skipped, absent bool
	problem         *template.Problem
}

// lookUpItems evaluates a lookup with a forEach. With a name, it gives the object of each item in the order of the
// items; with a selector, the objects of all items, each once.
func (e *Evaluation) lookUpItems(l *Lookup) memo {
	tuples, p := e.tuples(&l.Body)
	if p != nil {
		return memo{done: true, problem: p.In(flow.RootLookups + "." + l.ID)}
	}
	var objects []*unstructured.Unstructured
	var first *template.Problem
	for at, t := range tuples {
		if p := e.session.Overdue(); p != nil {
			return memo{done: true, problem: template.Failure("%s.%s %s", flow.RootLookups, l.ID, p.Message)}
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

// lookUpOne evaluates one item of a lookup.
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
			return found{problem: template.Waiting("lookups.%s is not known yet: %s", l.ID, err.Error())}
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
		return found{problem: template.Waiting("lookups.%s does not exist yet: %s %s", l.ID, l.GVK.Kind, template.NotShown)}
	}
	name := q.Name
	if q.Namespace != "" {
		name = q.Namespace + "/" + name
	}
	return found{problem: template.Waiting("lookups.%s does not exist yet: %s %q", l.ID, l.GVK.Kind, name)}
}

// fewFound limits the objects of a lookup to the length of a list.
func (e *Evaluation) fewFound(l *Lookup, objects []*unstructured.Unstructured) *template.Problem {
	if p := e.session.List(len(objects)); p != nil {
		return template.Failure("%s.%s %s", flow.RootLookups, l.ID, p.Message)
	}
	return nil
}

// place names a field of a lookup in messages.
func (l *Lookup) place(field string) string {
	if l.Place != "" {
		return l.Place + "." + field
	}
	return flow.RootLookups + "." + l.ID + "." + field
}

// query is the query for one item of a lookup. A rendered value never widens it: only what the rule says without an
// expression can select everything.
func (e *Evaluation) query(l *Lookup, s *scope) (Query, *template.Problem) {
	q := Query{Lookup: l.ID, GVK: l.GVK, Target: Target{AllNamespaces: l.AllNamespaces && l.Namespaced, Selector: l.Selector}}
	var p *template.Problem
	if q.Namespace, p = e.queryNamespace(l, s); p != nil {
		return q, p.In(l.place("namespace"))
	}
	switch {
	case l.NameFrom != nil:
		if q.Name, p = template.NameOf(l.NameFrom, s, "name", naming.IsPathSegment); p == nil && q.Name == "" {
			p = template.Failure("the name has no value").Advising("give the lookup a when")
		}
		if p != nil {
			return q, p.In(l.place("name"))
		}
	case l.SelectorFrom != nil:
		if q.Selector, p = template.SelectorOf(l.SelectorFrom, s); p != nil {
			return q, p.In(l.place("selector"))
		}
	}
	return q, nil
}

// queryNamespace is the namespace of a query: the rule's, or else the parent's.
func (e *Evaluation) queryNamespace(l *Lookup, s *scope) (string, *template.Problem) {
	if !l.Namespaced || l.AllNamespaces {
		return "", nil
	}
	if l.NamespaceFrom != nil {
		if namespace, p := template.NameOf(l.NamespaceFrom, s, "namespace", validation.IsDNS1123Label); p != nil || namespace != "" {
			return namespace, p
		}
	}
	namespace := e.object.GetNamespace()
	if namespace == "" && !e.prog.Parent.Namespaced {
		return "", template.Failure("the namespace is needed, because the parent is cluster-scoped")
	}
	return namespace, nil
}

// contents are objects as a list of JSON.
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

// byName orders objects of one kind by namespace and name.
func byName(a, b *unstructured.Unstructured) int {
	return cmp.Or(strings.Compare(a.GetNamespace(), b.GetNamespace()), strings.Compare(a.GetName(), b.GetName()))
}
