package preview

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/rules/ignore"
	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/rules/syntax"
)

// recreation says whether the object that exists is deleted for one that is rendered, and why; the reason alone is set where it
// would be, and something else keeps it.
func (w *world) recreation(node string, rendered *unstructured.Unstructured, renewal program.Renewal) (Recreation, string) {
	if live, _ := w.Live(rendered); live == nil { // never fails
		return RecreateNever, ""
	}
	policy := w.children[node].UpdatePolicy
	switch {
	case renewal.IsDue():
		return RecreateNow, "is deleted and recreated: its recreateWhen is true"
	case policy != syntax.UpdateRecreate && policy != syntax.UpdateApplyOrRecreate || !w.outdated(node, rendered):
		return RecreateNever, ""
	case policy == syntax.UpdateRecreate && renewal == program.RenewalBarred:
		return RecreateNever, "is changed and stays as it is: it is not deleted while its createWhen does not allow a new one"
	case policy == syntax.UpdateRecreate:
		return RecreateNow, "is deleted and recreated: something else is rendered for it"
	case renewal == program.RenewalBarred:
		return RecreateNever, ""
	}
	return RecreateIfRefused, "is changed, or deleted and recreated where the API server does not allow the change"
}

// recreatesLater says whether an object that stays as it is for now is deleted later, to be created again.
func (w *world) recreatesLater(node *program.Rendered, object *unstructured.Unstructured) bool {
	if live, _ := w.Live(object); live == nil { // never fails
		return false
	}
	policy := w.children[node.Node].UpdatePolicy
	if slices.Contains(node.Held, object) && policy == syntax.UpdateRecreate && w.outdated(node.Node, object) {
		return true
	}
	return slices.ContainsFunc(node.Awaiting, func(a program.Awaiting) bool {
		return a.Object == object && (policy == syntax.UpdateRecreate || policy == syntax.UpdateApplyOrRecreate || a.Renewal.IsDue())
	})
}

// Replaced implements program.Reader.
func (w *world) Replaced(rendered *unstructured.Unstructured) *unstructured.Unstructured {
	return w.replaced[identityOf(rendered)]
}

// Outdated implements program.Reader.
func (w *world) Outdated(node string, rendered, _ *unstructured.Unstructured) bool {
	return w.outdated(node, rendered)
}

// outdated says whether something else is rendered than what is there was applied with,
// as far as it says; else whether it differs.
func (w *world) outdated(node string, rendered *unstructured.Unstructured) bool {
	live, _ := w.Live(rendered) // never fails
	if live == nil {
		return false
	}
	if before := w.rendered[identityOf(rendered)]; before != nil {
		return !equality.Semantic.DeepEqual(before.Object, rendered.Object)
	}
	if outdated, known := fieldset.Outdated(rendered, live, w.policyOf(node, rendered)); known {
		return outdated
	}
	return !equality.Semantic.DeepEqual(live.Object, w.applied(node, rendered).Object)
}

// policyOf is what a child ignores, as the engine takes it.
func (w *world) policyOf(node string, rendered *unstructured.Unstructured) fieldset.Policy {
	return fieldset.Policy{Ignore: pathsOf(w.ignored(node, rendered)), Relinquished: pathsOf(w.ignores(rendered))}
}

func pathsOf(ignored []ignore.Path) []fieldset.Path {
	out := make([]fieldset.Path, len(ignored))
	for i, path := range ignored {
		out[i] = make(fieldset.Path, len(path))
		for j, step := range path {
			out[i][j] = fieldset.Step(step)
		}
	}
	return out
}
