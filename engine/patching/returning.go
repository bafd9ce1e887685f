package patching

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"kanon.dev/kanon/engine/apply"
	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/apply/mark"
)

// restore restores the fields that the patch took and no longer sets, unless another patch or somebody else has them
// by now. It returns the resulting object. held are the paths that the patch owns.
func (w *Writer) restore(ctx context.Context, p Patch, held *fieldpath.Set) (*unstructured.Unstructured, error) {
	list := PreviousOf(p.Object)
	kept, returned := SplitPrevious(p.Object, p.Manager, p.Content, held)
	if len(kept) == len(list) {
		return p.Object, nil
	}
	live := p.Object
	byOwner := map[string][]Previous{}
	for _, t := range returned {
		byOwner[t.Owner] = append(byOwner[t.Owner], t)
	}
	if len(byOwner) == 0 {
		byOwner[""] = nil
	}
	owners := slices.Sorted(maps.Keys(byOwner))
	for i, owner := range owners {
		left := slices.Clone(kept)
		for _, later := range owners[i+1:] { // they stay recorded until they are restored
			left = append(left, byOwner[later]...)
		}
		answer, err := w.restoreTo(ctx, p, live, owner, byOwner[owner], left)
		if err != nil {
			return nil, err
		}
		live = answer
	}
	return live, nil
}

// restoreTo restores fields for one owner in one request, which changes the values, moves the ownership from the
// patch to the owner, and leaves kept in AnnotationTaken.
func (w *Writer) restoreTo(ctx context.Context, p Patch, live *unstructured.Unstructured, owner string, list, kept []Previous) (*unstructured.Unstructured, error) {
	ref := mark.RefOf(live)
	owner = cmp.Or(owner, RestoreManager)
	operations := []fieldset.Operation{{Op: "replace", Path: "/metadata/resourceVersion", Value: live.GetResourceVersion()}}
	paths := &fieldpath.Set{}
	for _, t := range list {
		path, _ := t.Fields()
		pointer, ok := fieldset.PointerTo(live.Object, path)
		if !ok {
			continue // the object around it is gone
		}
		operations = append(operations, fieldset.Operation{Op: "add", Path: pointer, Value: t.Value})
		paths.Insert(path)
	}
	annotation := "/metadata/annotations/" + fieldset.EscapePointer(AnnotationTaken)
	if len(kept) == 0 {
		operations = append(operations, fieldset.Operation{Op: "remove", Path: annotation})
	} else {
		text, err := fieldset.MarshalText(kept)
		if err != nil {
			return nil, fmt.Errorf("encode the previous values of %s: %w", ref, err)
		}
		operations = append(operations, fieldset.Operation{Op: "replace", Path: annotation, Value: text})
	}
	if !paths.Empty() {
		entries, err := MoveOwnership(live, p.Manager, owner, paths)
		if err != nil {
			return nil, fmt.Errorf("rewrite managedFields of %s: %w", ref, err)
		}
		operations = append(operations, fieldset.Operation{Op: "replace", Path: "/metadata/managedFields", Value: entries})
	}
	answer, err := w.server.PatchSteps(ctx, p.GVR, ref, metav1.PatchOptions{FieldManager: owner}, operations)
	if err != nil {
		return nil, apply.OfTarget("restore the previous values of", ref, err)
	}
	logr.FromContextOrDiscard(ctx).V(2).Info("restored the previous values", "target", ref.String(), "owner", owner)
	return answer, nil
}
