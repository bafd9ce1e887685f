package program

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/rules/program/rendered"
	"kanon.dev/kanon/rules/program/template"
)

// keepGenerated copies the generated fields of the live object, or of the one that is replaced, into a rendered object,
// and renders again what is computed from them. Fields that the live object lacks are new; they may be written only to
// this version of it.
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
