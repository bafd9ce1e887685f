package livediff

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"kanon.dev/kanon/engine/apply"
	"kanon.dev/kanon/engine/apply/fieldset"
)

// recreate returns the object that would replace the live one, with its defaults, and without fields that others set in
// the live one. The error reports that the API server would refuse it.
//
// A dry run of a creation under the object's own name ends with AlreadyExists and returns no object. So the defaults
// come from a creation under another name. If the API server refuses that one, the result is the object as rendered.
func (w *writing) recreate(ctx context.Context) (*unstructured.Unstructured, error) {
	whole := w.desired.ForCreation()
	object := apply.WithoutAllocated(whole, w.live)
	if _, err := tryCreate(ctx, w.client, object); err != nil && !apierrors.IsAlreadyExists(err) {
		return nil, err
	}
	object.SetName(otherName(w.live.GetName()))
	answer, err := tryCreate(ctx, w.client, object)
	if err != nil {
		return whole, nil //nolint:nilerr // it would be accepted under its own name
	}
	answer.SetName(w.live.GetName())
	return w.settled(answer, whole)
}

// otherName returns a name that is unlikely to exist and valid wherever the given one is.
func otherName(name string) string {
	const ending = "-kanondiff"
	return name[:min(len(name), 63-len(ending))] + ending
}

// settled combines the answer to a creation with the rendered fields. Fields that nobody sets get the live object's
// values: what the API server allocates, such as addresses, differs each time and is no change.
func (w *writing) settled(answer, whole *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	created, err1 := w.kind.TypedLive(answer)
	live, err2 := w.kind.TypedLive(w.live)
	rendered, err3 := w.kind.Converter.ObjectToTyped(whole)
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, err
	}
	set, err1 := created.ToFieldSet()
	has, err2 := live.ToFieldSet()
	renders, err3 := rendered.ToFieldSet()
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, err
	}
	chosen := set.Intersection(has).Difference(renders).Difference(ownedByOthers(w.live)).Leaves()
	settled, err := created.Merge(live.ExtractItems(chosen, typed.WithAppendKeyFields()))
	if err != nil {
		return nil, err
	}
	if settled, err = settled.Merge(rendered); err != nil {
		return nil, err
	}
	return untyped(w.kind, settled)
}

// ownedByOthers returns the fields that field managers other than Kanon's own.
func ownedByOthers(live *unstructured.Unstructured) *fieldpath.Set {
	all := &fieldpath.Set{}
	for _, e := range fieldset.EntriesOf(live) {
		if fields, err := e.Fields(); err == nil && !e.Ours() {
			all = all.Union(fields)
		}
	}
	return all
}
