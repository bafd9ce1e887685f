package program

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/rules/diagnostic"
)

// parentClaim stands for the parent in Evaluation.claimed.
const parentClaim = -1

func (e *Evaluation) renderNode(i int) {
	child := e.prog.Children[i]
	n := &e.nodes[i]
	if child.IsList {
		e.renderItems(i)
		return
	}
	it := item{scope: *e.scopeOf(&child.Body, nil, 0)}
	p := n.awaits
	if p == nil {
		p = e.renderItem(child, &it)
	} else if e.renderExisting(child, &it); it.object != nil {
		n.problem, n.partial, p = p, true, nil
	}
	switch {
	case p != nil:
		e.stop(i, p)
		return
	case it.object == nil:
		n.state = nodeSkipped
		return
	}
	id := identityOf(it.object)
	if p := e.claim(i, id); p != nil {
		e.stop(i, p)
		return
	}
	if it.fate == fateUncreated {
		n.state, n.uncreated = nodeUncreated, []*unstructured.Unstructured{it.object}
		return
	}
	n.items = []item{it}
	e.rendersAll(i)
}

func (e *Evaluation) claim(i int, id identity) *Problem {
	other, taken := e.claimed[id]
	switch {
	case !taken:
		e.claimed[id] = i
		return nil
	case other == parentClaim:
		return Failure("%s is the parent itself", id).Under("template.metadata.name")
	}
	return Failure("%s is rendered by %s as well", id, e.prog.Children[other].ID).Under("template.metadata.name")
}

// renderItem renders the object of an item and decides what happens to it. The item has no object if its when is false.
func (e *Evaluation) renderItem(child *Child, it *item) *Problem {
	if holds, p := child.When.Holds(&it.scope, "when"); p != nil || !holds {
		return p
	}
	if p := e.checkKind(child.GVK); p != nil {
		return p
	}
	object, p := e.renderObject(child, &it.scope)
	if p != nil {
		return p
	}
	if p := e.decide(child, it, object); p != nil {
		return p
	}
	if p := e.decideIgnored(child, &it.scope, identityOf(object)); p != nil {
		return p
	}
	if p := e.decideDeletion(child, &it.scope, identityOf(object)); p != nil {
		return p
	}
	it.object = object
	return nil
}

// renderExisting renders an item of which a dependency is not ready. An object that does not exist is left out. An
// existing one is kept in sync if it is rendered as it was last applied; otherwise it is left as it is.
func (e *Evaluation) renderExisting(child *Child, it *item) {
	if e.reader == nil || e.renderItem(child, it) != nil || it.object == nil {
		it.object = nil
		return
	}
	if it.before == nil {
		it.before, _ = e.reader.Live(it.object) // if that is not known, nothing is done
	}
	switch {
	case it.before == nil:
		it.object = nil
		return
	case it.fate == fateWritten && (it.recreation.IsDue() || e.reader.Outdated(child.ID, it.object, it.before)):
		it.fate, it.live, it.postponed = fateKept, it.before, true
	case it.fate == fateWritten && child.Renews():
		it.recreation = RecreationForbidden
	}
	it.awaits = true
}

func (e *Evaluation) renderObject(child *Child, s *scope) (*unstructured.Unstructured, *Problem) {
	fields, p := e.renderFields(child.Template, s, "the template gives no object")
	if p != nil {
		return nil, p.Under("template")
	}
	object := &unstructured.Unstructured{Object: fields}
	place := objectPlace{
		Kind: child.GVK.Kind, Namespaced: child.Namespaced,
		Parent: e.object.GetNamespace(), ParentNamespaced: e.prog.Parent.Namespaced,
	}
	if p := completeObject(object, place); p != nil {
		return nil, p.Under("template.metadata")
	}
	if p := e.session.HoldObject(fields); p != nil {
		return nil, p.Under("template")
	}
	return object, nil
}

// renderFields renders a template that must give a map. nothing is the message if it does not.
func (e *Evaluation) renderFields(t Template, s *scope, nothing string) (map[string]any, *Problem) {
	e.session.MakeRoom()
	val, ok, p := t.Render(s)
	if p != nil {
		return nil, p
	}
	fields, isMap := val.(map[string]any)
	if !ok || !isMap {
		return nil, Failure("%s", nothing)
	}
	return fields, nil
}

// rendersAll marks a node as rendered, unless there are too many children.
func (e *Evaluation) rendersAll(i int) {
	n, most := &e.nodes[i], e.prog.Limits.Children
	total := e.rendered + len(n.items)
	switch {
	case total <= most:
		e.rendered, n.state = total, nodeRendered
	case e.rendered == 0:
		e.stop(i, Failure("renders %s children, more than the %s allowed by --max-children", diagnostic.Number(len(n.items)), diagnostic.Number(most)))
	default:
		e.stop(i, Failure("renders %s children, which makes %s with those of other nodes, more than the %s allowed by --max-children",
			diagnostic.Number(len(n.items)), diagnostic.Number(total), diagnostic.Number(most)))
	}
}
