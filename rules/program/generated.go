package program

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/rules/program/rendered"
	"kanon.dev/kanon/rules/program/template"
)

// keepGenerated gives the generated fields of a rendered object the values that the live one has,
// or the one that it replaces, and what is computed from them. Those that it lacks are new: they are written to this version of
// it only.
func (e *Evaluation) keepGenerated(child *Child, it *item, object, live *unstructured.Unstructured) *template.Problem {
	if rendered.ReadsAnother(child.Generated, object, live) {
		it.scope = *e.scopeOf(&child.Body, it.scope.items, int(it.scope.index))
		it.scope.own = &ownObject{child: child.ID, object: live.Object}
		again, p := e.renderObject(child, &it.scope)
		if p != nil {
			return p
		}
		object.Object = again.Object
	}
	fresh, p := rendered.Keep(child.Generated, object, live)
	if it.before != nil {
		it.fresh = fresh
	}
	return p
}
