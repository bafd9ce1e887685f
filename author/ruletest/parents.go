package ruletest

import (
	"context"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/author/memory"
	"kanon.dev/kanon/rules/program"
)

// parents are the parents of a case.
type parents []types.NamespacedName

// names are the names by which expectations call the parents: NAME, or NAMESPACE/NAME for those with the same name.
func (p parents) names() []string {
	count := map[string]int{}
	for _, parent := range p {
		count[parent.Name]++
	}
	var names []string
	for _, parent := range p {
		if count[parent.Name] > 1 {
			names = append(names, parent.String())
		} else {
			names = append(names, parent.Name)
		}
	}
	return names
}

// newParents makes the parents of the case. It reports false if two of them are the same.
func (r *runner) newParents() (all []*unstructured.Unstructured, ok bool) {
	given := r.c.Parents
	if given == nil {
		given = []expected[map[string]any]{{r.step.Parent, r.c.at}}
	}
	for _, over := range given {
		parent := r.asParent(map[string]any{})
		if r.parent != nil {
			parent = r.parent.DeepCopy()
		}
		memory.Merge(parent.Object, over.want)
		r.kinds.InDefaultNamespace([]*program.Program{r.program}, []*unstructured.Unstructured{parent})
		key := types.NamespacedName{Namespace: parent.GetNamespace(), Name: parent.GetName()}
		if slices.Contains(r.parents, key) {
			return nil, r.fail(over.at, "two parents are %s %s: give each another name or namespace", parent.GetKind(), key)
		}
		r.parents, all = append(r.parents, key), append(all, parent)
	}
	return all, true
}

// newStates are the states of the cluster now, of each parent.
func (r *runner) newStates(ctx context.Context) []*state {
	var states []*state
	for _, parent := range r.parents {
		s := r.newState(ctx, r.cluster.For(parent))
		r.note(objectsOf(s)...)
		r.coverage.add(s)
		states = append(states, s)
	}
	r.emitted, r.seen = len(r.cluster.Events), len(r.cluster.API.Writes)
	return states
}

// find lists the objects that word names, for any of the parents. It returns an error if there are none.
func (r *runner) find(word string) (found []*unstructured.Unstructured, err error) {
	for _, parent := range slices.Backward(r.parents) {
		objects, missing := findFor(r.cluster.For(parent), word)
		err = missing
		for _, object := range objects {
			if !slices.Contains(found, object) {
				found = append(found, object)
			}
		}
	}
	if len(found) > 0 {
		return found, nil
	}
	return nil, err
}

// compareAll compares the result of a step with its expectations, of each parent. before are the states after the
// previous step; nil in the first step.
func (r *runner) compareAll(ctx context.Context, before []*state) {
	e, names := &r.step.Expect, r.parents.names()
	defer func() { r.about = "" }()
	for i := range r.parents {
		of := e
		if r.state = r.states[i]; before != nil {
			r.before = before[i]
		}
		if r.c.Parents != nil {
			r.about = "parent " + names[i] + ": "
			expect := e.Parents[names[i]].want
			of = &expect
		}
		r.compare(ctx, of)
	}
	if r.about = ""; r.c.Parents == nil {
		return
	}
	r.compareObjects(e.Objects)
	for _, name := range slices.Sorted(maps.Keys(e.Parents)) {
		if !slices.Contains(names, name) {
			r.fail(e.Parents[name].at, "the case has no parent %s%s", name, orNearest(name, names))
		}
	}
}
