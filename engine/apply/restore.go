package apply

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/apply/patchset"
)

// recordPrevious records the fields of a patch that have another value, which is to be restored later. It
// returns the object as it is then. held is what the patch has already.
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
		// Nobody of ours had the field alone, so what was remembered of it is older.
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

// previousOf is what is to be recorded of a field that the patch sets; nil where that is nothing: where the field is not
// there, has this value already, or is the patch's alone.
func (p Patch) previousOf(path fieldpath.Path, held bool) (*patchset.Previous, error) {
	there, found := patchset.LookUp(p.Object.Object, path)
	wanted, _ := patchset.LookUp(p.Content.AsObject(), path)
	if fields, isMap := wanted.(map[string]any); !found || path[len(path)-1].FieldName == nil || isMap && len(fields) == 0 ||
		value.Equals(value.NewValueInterface(there), value.NewValueInterface(wanted)) {
		return nil, nil
	}
	owner, patches := "", false
	for _, name := range patchset.OwnersOf(p.Object, path) {
		if name == p.Manager {
			continue
		}
		if why := p.refuses(name); why != "" {
			return nil, &FieldConflictError{Ref: mark.RefOf(p.Object), Path: fieldset.PathText(path), Manager: name, Why: why}
		}
		if strings.HasPrefix(name, patchset.Prefix) {
			patches = true
		} else {
			owner = name
		}
	}
	if owner == "" && (held || patches) {
		return nil, nil // what was there before a patch had the field is remembered
	}
	t, err := patchset.NewPrevious(path, there, owner)
	if err != nil {
		return nil, fmt.Errorf("remember %s of %s: %w", fieldset.PathText(path), mark.RefOf(p.Object), err)
	}
	return &t, nil
}

func (p Patch) refuses(manager string) (why string) {
	if p.Keeps != nil {
		why = p.Keeps(manager)
	}
	if why == "" && p.Refuse {
		why = "the patch has conflict: Refuse, so it does not change this"
	}
	return why
}

// writePrevious writes AnnotationTaken, in exactly the version seen.
func (w *Writer) writePrevious(ctx context.Context, p Patch, list []patchset.Previous) (*unstructured.Unstructured, error) {
	ref := mark.RefOf(p.Object)
	text, err := fieldset.MarshalText(list)
	if err != nil {
		return nil, fmt.Errorf("encode the previous values of %s: %w", ref, err)
	}
	answer, err := w.patchMetadata(ctx, p.GVR, ref, patchset.RestoreManager, map[string]any{
		"uid": string(ref.UID), "resourceVersion": p.Object.GetResourceVersion(),
		"annotations": map[string]any{patchset.AnnotationTaken: text},
	})
	return answer, targetError("record the previous values of", ref, err)
}

// restore puts back what the patch took and sets no more, unless another patch has the field still, or somebody else
// has it by now. It returns the object as it is then. held is what the patch has.
func (w *Writer) restore(ctx context.Context, p Patch, held *fieldpath.Set) (*unstructured.Unstructured, error) {
	list := patchset.PreviousOf(p.Object)
	kept, returned := patchset.SplitPrevious(p.Object, p.Manager, p.Content, held)
	if len(kept) == len(list) {
		return p.Object, nil
	}
	live := p.Object
	byOwner := map[string][]patchset.Previous{}
	for _, t := range returned {
		byOwner[t.Owner] = append(byOwner[t.Owner], t)
	}
	if len(byOwner) == 0 {
		byOwner[""] = nil
	}
	for i, owner := range slices.Sorted(maps.Keys(byOwner)) {
		if i > 0 { // the others stay recorded until they are restored
			kept = slices.DeleteFunc(kept, func(k patchset.Previous) bool { return k.Owner == owner && patchset.ContainsPath(byOwner[owner], k) })
		} else {
			for other, list := range byOwner {
				if other != owner {
					kept = append(kept, list...)
				}
			}
		}
		answer, err := w.restoreTo(ctx, p, live, owner, byOwner[owner], kept)
		if err != nil {
			return nil, err
		}
		live = answer
	}
	return live, nil
}

// restoreTo puts fields back for one owner, whose they are then: in one request, which changes the values, moves the
// ownership from the patch to the owner, and leaves in AnnotationTaken what is kept.
func (w *Writer) restoreTo(ctx context.Context, p Patch, live *unstructured.Unstructured, owner string, list, kept []patchset.Previous) (*unstructured.Unstructured, error) {
	ref := mark.RefOf(live)
	owner = cmp.Or(owner, patchset.RestoreManager)
	operations := []fieldset.Operation{{Op: "replace", Path: "/metadata/resourceVersion", Value: live.GetResourceVersion()}}
	paths := &fieldpath.Set{}
	for _, t := range list {
		path, _ := t.Fields()
		pointer, ok := fieldset.PointerTo(live.Object, path)
		if !ok {
			continue // what held it is gone
		}
		operations = append(operations, fieldset.Operation{Op: "add", Path: pointer, Value: t.Value})
		paths.Insert(path)
	}
	annotation := "/metadata/annotations/" + fieldset.EscapePointer(patchset.AnnotationTaken)
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
		entries, err := patchset.MoveOwnership(live, p.Manager, owner, paths)
		if err != nil {
			return nil, fmt.Errorf("rewrite managedFields of %s: %w", ref, err)
		}
		operations = append(operations, fieldset.Operation{Op: "replace", Path: "/metadata/managedFields", Value: entries})
	}
	answer, err := w.patchSteps(ctx, p.GVR, ref, metav1.PatchOptions{FieldManager: owner}, operations)
	if err != nil {
		return nil, targetError("restore the previous values of", ref, err)
	}
	logr.FromContextOrDiscard(ctx).V(2).Info("restored the previous values", "target", ref.String(), "owner", owner)
	return answer, nil
}
