package patchwriter

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/apply/patchset"
	"kanon.dev/kanon/engine/apply/refusal"
)

// recordPrevious records the other values of the fields that a patch sets, so that they can be restored later. It
// returns the resulting object. held are the paths that the patch owns.
func (w *Writer) recordPrevious(ctx context.Context, p Patch, held *fieldpath.Set) (*unstructured.Unstructured, error) {
	list := patchset.PreviousOf(p.Object)
	changed := false
	var failed error
	p.Content.Paths.Leaves().Iterate(func(path fieldpath.Path) {
		if failed != nil {
			return
		}
		t, err := p.previousOf(path.Copy(), held.Has(path))
		if t == nil || err != nil {
			failed = err
			return
		}
		// No patch had the field, so what was recorded about it before is outdated.
		list = slices.DeleteFunc(list, func(o patchset.Previous) bool { return slices.Equal(o.Path, t.Path) })
		list, changed = append(list, *t), true
	})
	if failed != nil {
		return nil, failed
	}
	if !changed || fieldset.IsSecret(p.Object) {
		return p.Object, nil
	}
	return w.writePrevious(ctx, p, list)
}

// previousOf returns what to record about a field that the patch sets; nil if the field does not exist, already has
// this value, or belongs to the patch alone.
func (p Patch) previousOf(path fieldpath.Path, held bool) (*patchset.Previous, error) {
	there, found := fieldset.LookUp(p.Object.Object, path)
	wanted, _ := fieldset.LookUp(p.Content.AsObject(), path)
	if fields, isMap := wanted.(map[string]any); !found || path[len(path)-1].FieldName == nil || isMap && len(fields) == 0 ||
		value.Equals(value.NewValueInterface(there), value.NewValueInterface(wanted)) {
		return nil, nil
	}
	owners := p.otherOwners(path)
	if err := p.conflictWith(owners, path); err != nil {
		return nil, err
	}
	owner, patches := "", false
	for _, name := range owners {
		if strings.HasPrefix(name, patchset.Prefix) {
			patches = true
		} else {
			owner = name
		}
	}
	if owner == "" && (held || patches) {
		return nil, nil // the value from before the first patch is already recorded
	}
	t, err := patchset.NewPrevious(path, there, owner)
	if err != nil {
		return nil, fmt.Errorf("remember %s of %s: %w", fieldset.PathText(path), mark.RefOf(p.Object), err)
	}
	return &t, nil
}

// writePrevious writes AnnotationTaken, in exactly the version seen.
func (w *Writer) writePrevious(ctx context.Context, p Patch, list []patchset.Previous) (*unstructured.Unstructured, error) {
	ref := mark.RefOf(p.Object)
	text, err := fieldset.MarshalText(list)
	if err != nil {
		return nil, fmt.Errorf("encode the previous values of %s: %w", ref, err)
	}
	answer, err := w.server.PatchMetadata(ctx, p.GVR, ref, patchset.RestoreManager, map[string]any{
		"uid": string(ref.UID), "resourceVersion": p.Object.GetResourceVersion(),
		"annotations": map[string]any{patchset.AnnotationTaken: text},
	})
	return answer, refusal.OfTarget("record the previous values of", ref, err)
}
