package rules

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/rules/celenv/run"
	"kanon.dev/kanon/rules/syntax"
)

// renews says whether an object of the child may be deleted and created again.
func (c *compiledChild) renews() bool {
	return c.recreateWhen != nil || c.UpdatePolicy == syntax.UpdateRecreate || c.UpdatePolicy == syntax.UpdateApplyOrRecreate
}

// decideRenewal asks recreateWhen about an object that exists and may be changed,
// and createWhen whether one may be made in its place: what could not be made is not
// deleted for it. What recreateWhen cannot say yet counts as no. An object of CreateOnly
// is recreated, or left as it is.
func (e *Evaluation) decideRenewal(child *compiledChild, it *item, live *unstructured.Unstructured) *problem {
	once := child.UpdatePolicy == syntax.UpdateCreateOnly
	if !child.renews() || it.fate != fateWritten && !once {
		return nil
	}
	if child.recreateWhen != nil {
		s := it.scope
		s.self = live.Object
		ok, p := child.recreateWhen.isTrue(&s)
		if p != nil && p.verdict != waits {
			return p.under("recreateWhen")
		}
		switch created := live.GetCreationTimestamp(); {
		case !ok:
		case child.recreateWhen.wasTrue(&s, created.Time):
			it.renewal = RenewalDue
		default:
			it.renewal = RenewalExpired
		}
	}
	if child.createWhen != nil {
		if ok, p := child.createWhen.isTrue(&it.scope); p != nil || !ok {
			it.renewal = RenewalBarred
		}
	}
	if once && it.renewal.IsDue() {
		it.fate, it.live = fateWritten, nil
	}
	return nil
}

// wasTrue says whether an expression would have been true at an earlier time, if nothing but the
// time were different.
func (x *expression) wasTrue(s *scope, at time.Time) bool {
	then, clock := *s, run.NewClock(at)
	then.clock = &clock
	ok, p := x.isTrue(&then)
	return ok || p != nil || at.IsZero()
}

// MayRecreate says whether objects of a kind may be deleted to be created again: not
// where all that is in them goes with them.
func MayRecreate(gvk schema.GroupVersionKind) bool {
	return !slices.Contains([]schema.GroupKind{
		{Kind: "Namespace"},
		{Kind: "PersistentVolume"},
		{Kind: "PersistentVolumeClaim"},
		{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"},
	}, gvk.GroupKind())
}
