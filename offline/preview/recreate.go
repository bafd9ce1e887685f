package preview

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/rules/syntax"
)

// recreation decides whether the existing object is deleted for a rendered one. The text explains it. With
// RecreateNever, a text says why the object is not recreated although its updatePolicy asks for it.
func (w *world) recreation(node string, rendered *unstructured.Unstructured, recreation program.Recreation) (Recreation, string) {
	if live, _ := w.Live(rendered); live == nil { // Live never fails
		return RecreateNever, ""
	}
	policy := w.children[node].UpdatePolicy
	switch {
	case recreation.IsDue():
		return RecreateNow, "is deleted and recreated: its recreateWhen is true"
	case policy != syntax.UpdateRecreate && policy != syntax.UpdateApplyOrRecreate || !w.outdated(node, rendered):
		return RecreateNever, ""
	case policy == syntax.UpdateRecreate && recreation == program.RecreationForbidden:
		return RecreateNever, "is changed and stays as it is: it is not deleted while its createWhen does not allow a new one"
	case policy == syntax.UpdateRecreate:
		return RecreateNow, "is deleted and recreated: something else is rendered for it"
	case recreation == program.RecreationForbidden:
		return RecreateNever, ""
	}
	return RecreateIfRefused, "is changed, or deleted and recreated where the API server does not allow the change"
}

// recreatesLater reports whether an object that is left unchanged for now will be recreated later.
func (w *world) recreatesLater(node *program.Rendered, object *unstructured.Unstructured) bool {
	if live, _ := w.Live(object); live == nil { // Live never fails
		return false
	}
	policy := w.children[node.Node].UpdatePolicy
	if slices.Contains(node.Postponed, object) && policy == syntax.UpdateRecreate && w.outdated(node.Node, object) {
		return true
	}
	return slices.ContainsFunc(node.Awaiting, func(a program.Awaiting) bool {
		return a.Object == object && (policy == syntax.UpdateRecreate || policy == syntax.UpdateApplyOrRecreate || a.Recreation.IsDue())
	})
}

// Replaced implements program.Reader.
func (w *world) Replaced(rendered *unstructured.Unstructured) *unstructured.Unstructured {
	return w.replaced[identity.Of(rendered)]
}

// Outdated implements program.Reader.
func (w *world) Outdated(node string, rendered, _ *unstructured.Unstructured) bool {
	return w.outdated(node, rendered)
}

// outdated reports whether something else is rendered than what the live object was applied with. If neither the last
// rendered object nor the mark is known, it reports whether an apply would change the live object.
func (w *world) outdated(node string, rendered *unstructured.Unstructured) bool {
	live, _ := w.Live(rendered) // never fails
	if live == nil {
		return false
	}
	if before := w.rendered[identity.Of(rendered)]; before != nil {
		return !equality.Semantic.DeepEqual(before.Object, rendered.Object)
	}
	if outdated, known := fieldset.Outdated(rendered, live, w.policyOf(node, rendered)); known {
		return outdated
	}
	return !equality.Semantic.DeepEqual(live.Object, w.applied(node, rendered).Object)
}

// policyOf returns which fields of a child are ignored.
func (w *world) policyOf(node string, rendered *unstructured.Unstructured) fieldset.Policy {
	return fieldset.Policy{Ignore: w.ignored(node, rendered), Relinquished: w.ignores(rendered)}
}
