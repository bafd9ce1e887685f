package preview

import (
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/rules"
)

// whyAnew says why the object that is there would be deleted for one that is rendered,
// or what decides about it; empty where it would not be.
func (w *world) whyAnew(node string, rendered *unstructured.Unstructured, renewal rules.Renewal) string {
	if live, _ := w.Live(rendered); live == nil { // never fails
		return ""
	}
	policy := w.children[node].UpdatePolicy
	switch {
	case renewal.IsDue():
		return "is deleted and recreated: its recreateWhen is true"
	case policy != rules.UpdateRecreate && policy != rules.UpdateApplyOrRecreate || !w.outdated(node, rendered):
		return ""
	case policy == rules.UpdateRecreate && renewal == rules.RenewalBarred:
		return "is changed and stays as it is: it is not deleted while its createWhen does not allow a new one"
	case policy == rules.UpdateRecreate:
		return "is deleted and recreated: something else is rendered for it"
	case renewal == rules.RenewalBarred:
		return ""
	}
	return "is changed, or deleted and recreated where the API server does not allow the change"
}

// Replaced implements rules.Reader. In a preview nothing was deleted.
func (w *world) Replaced(*unstructured.Unstructured) *unstructured.Unstructured { return nil }

// Outdated implements rules.Reader.
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
	if outdated, known := fieldset.Outdated(rendered, live, w.policyOf(node, rendered)); known {
		return outdated
	}
	return !equality.Semantic.DeepEqual(live.Object, w.applied(node, rendered).Object)
}

// policyOf is what a child ignores, as the engine takes it.
func (w *world) policyOf(node string, rendered *unstructured.Unstructured) fieldset.Policy {
	return fieldset.Policy{Ignore: pathsOf(w.ignored(node, rendered)), Relinquished: pathsOf(w.ignores(rendered))}
}

func pathsOf(ignored []rules.IgnoredPath) []fieldset.Path {
	out := make([]fieldset.Path, len(ignored))
	for i, path := range ignored {
		out[i] = make(fieldset.Path, len(path))
		for j, step := range path {
			out[i][j] = fieldset.Step(step)
		}
	}
	return out
}
