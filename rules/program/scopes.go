package program

import (
	"slices"

	"github.com/google/cel-go/common/types"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/rules/program/rendered"
	"kanon.dev/kanon/rules/program/template"
)

// The scopes of an evaluation that is done are for those who ask how it came out as it did: they render parts of the rule once
// more, or expressions of their own. Nothing is kept for them while the rule is evaluated.

// Revisit renews the budget of a finished evaluation. Call it before the scopes are used.
func (e *Evaluation) Revisit() {
	e.session.Renew()
	e.session.Begin()
}

// RuleScope is the scope of what belongs to no child, such as spec.status.
func (e *Evaluation) RuleScope() template.Scope {
	s := e.base
	return &s
}

// StatusScope is the scope of spec.events, which can read the rendered status.
func (e *Evaluation) StatusScope(status map[string]any) template.Scope {
	s := e.base
	s.status = types.WrapErr(template.Waiting("status has no value yet"))
	if status != nil {
		s.status = status
	}
	return &s
}

// ItemScope is the scope of an object that a child has rendered. index is its item of the forEach. ok is false for any
// other object.
func (e *Evaluation) ItemScope(node string, object *unstructured.Unstructured) (s template.Scope, index int, ok bool) {
	i, known := e.prog.ByID[node]
	if !known {
		return nil, 0, false
	}
	items, id := e.nodes[i].items, rendered.IdentityOf(object)
	at := slices.IndexFunc(items, func(it item) bool { return it.object != nil && rendered.IdentityOf(it.object) == id })
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
func (e *Evaluation) NodeScope(node string, index int) (template.Scope, *template.Problem) {
	i, ok := e.prog.ByID[node]
	if !ok {
		return nil, template.Failure("there is no child called %q", node)
	}
	child := e.prog.Children[i]
	own := e.scopeOf(&child.Body, nil, 0)
	if child.IsList {
		tuples, p := e.itemsOf(i)
		if p != nil {
			return nil, p
		}
		if index < 0 || index >= len(tuples) {
			return nil, template.Failure("%s has %d items, and the first is 0", node, len(tuples))
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
	Scope template.Scope
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
