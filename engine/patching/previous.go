package patching

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"kanon.dev/kanon/engine/apply"
	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/apply/mark"
)

// AnnotationTaken records, in the target of patches, the values of the fields that patches took from others, so that
// they can be restored. All patches of all rules share it: the first that takes a field records the value, and the
// last that relinquishes it restores the value.
const AnnotationTaken = "kanon.dev/taken"

// RestoreManager is the field manager of AnnotationTaken, and of restored values that had no manager before.
const RestoreManager = "kanon-taken"

// Previous is the value that a field had before a patch took it.
type Previous struct {
	// Path has the elements of the path as managedFields write them: f:spec, k:{"name":"web"}.
	Path  []string `json:"path"`
	Value any      `json:"value"`
	// Owner is the field manager; empty if the field had none.
	Owner string `json:"owner,omitempty"`
}

// PreviousOf decodes AnnotationTaken; nil if it is missing or cannot be decoded.
func PreviousOf(obj *unstructured.Unstructured) []Previous {
	text, ok := mark.MetadataString(obj, "annotations", AnnotationTaken)
	if !ok {
		return nil
	}
	var list []Previous
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&list); err != nil {
		return nil
	}
	return list
}

// Fields returns the path of the field; false if it cannot be decoded.
func (t Previous) Fields() (fieldpath.Path, bool) {
	path := make(fieldpath.Path, len(t.Path))
	for i, text := range t.Path {
		element, err := fieldpath.DeserializePathElement(text)
		if err != nil {
			return nil, false
		}
		path[i] = element
	}
	return path, len(path) > 0
}

// isAt reports whether the field is at a path.
func (t Previous) isAt(path fieldpath.Path) bool {
	at, ok := t.Fields()
	return ok && at.Equals(path)
}

// NewPrevious returns the value at a path of an owner; the owner may be empty.
func NewPrevious(path fieldpath.Path, val any, owner string) (Previous, error) {
	t := Previous{Path: make([]string, len(path)), Value: val, Owner: owner}
	for i, element := range path {
		text, err := fieldpath.SerializePathElement(element)
		if err != nil {
			return Previous{}, err
		}
		t.Path[i] = text
	}
	return t, nil
}

// SplitPrevious splits what is recorded in obj for a manager that owns the paths held and is to set content (nil:
// nothing). kept stays recorded, because a patch still has the field; restored is to be restored now. Fields that
// somebody else has by now are in neither.
func SplitPrevious(obj *unstructured.Unstructured, manager string, content *Part, held *fieldpath.Set) (kept, restored []Previous) {
	for _, t := range PreviousOf(obj) {
		path, ok := t.Fields()
		if !ok {
			continue // its path cannot be decoded
		}
		switch ours, others := OtherOwners(obj, path, manager); {
		case content != nil && content.Paths.Has(path), ours:
			kept = append(kept, t)
		case held.Has(path) && !others:
			restored = append(restored, t)
		}
	}
	return kept, restored
}

// MoveOwnership returns managedFields with paths moved from the manager of a patch to an owner, as if the owner had
// updated them. Otherwise an unchanged value would still belong to the patch, and be removed with it.
func MoveOwnership(obj *unstructured.Unstructured, manager, owner string, paths *fieldpath.Set) ([]any, error) {
	var items []any
	given := false
	for _, e := range fieldset.EntriesOf(obj) {
		mine := e.Manager == manager && e.Operation == fieldset.OperationApply
		theirs := e.Manager == owner && e.Operation == fieldset.OperationUpdate && e.Subresource == "" && e.APIVersion == obj.GetAPIVersion()
		if !mine && !theirs {
			items = append(items, e.Item())
			continue
		}
		set, err := e.Fields()
		if err != nil {
			return nil, err
		}
		if mine {
			set = set.Difference(paths)
		} else {
			set, given = set.Union(paths), true
		}
		if set.Empty() {
			continue
		}
		item, err := fieldset.WithFields(e, set)
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	if given {
		return items, nil
	}
	item, err := fieldset.WithFields(fieldset.Entry{Raw: map[string]any{
		"manager": owner, "operation": fieldset.OperationUpdate, "apiVersion": obj.GetAPIVersion(), "fieldsType": "FieldsV1",
		"time": time.Now().UTC().Format(time.RFC3339),
	}}, paths)
	return append(items, item), err
}

// HasUnusedPrevious reports whether obj has a recorded value of a field that no patch owns: the patch was interrupted
// before its apply.
func HasUnusedPrevious(obj *unstructured.Unstructured) bool {
	return slices.ContainsFunc(PreviousOf(obj), func(t Previous) bool {
		path, ok := t.Fields()
		patched, _ := OtherOwners(obj, path, "")
		return !ok || !patched
	})
}

// recordPrevious records the other values of the fields that a patch sets, so that they can be restored later. It
// returns the resulting object. held are the paths that the patch owns.
//
// A value that came after the patch, and took a field from it, is not recorded. If somebody has removed a field since then,
// nothing is to be restored. What happened while Kanon was not running is not known: then a value counts as an earlier one.
func (w *Writer) recordPrevious(ctx context.Context, p Patch, held *fieldpath.Set) (*unstructured.Unstructured, error) {
	list := PreviousOf(p.Object)
	changed, repeated := false, w.isRepeated(p)
	var failed error
	p.Content.Paths.Leaves().Iterate(func(path fieldpath.Path) {
		if failed != nil {
			return
		}
		if repeated && !held.Has(path) {
			before := len(list)
			if _, exists := fieldset.LookUp(p.Object.Object, path); !exists {
				list = slices.DeleteFunc(list, func(t Previous) bool { return t.isAt(path) })
			}
			changed = changed || len(list) < before
			return
		}
		t, err := p.previousOf(path.Copy(), held.Has(path))
		if t == nil || err != nil {
			failed = err
			return
		}
		// No patch had the field, so what was recorded about it before is outdated.
		list = slices.DeleteFunc(list, func(o Previous) bool { return slices.Equal(o.Path, t.Path) })
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
func (p Patch) previousOf(path fieldpath.Path, held bool) (*Previous, error) {
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
		if strings.HasPrefix(name, fieldset.PatchPrefix) {
			patches = true
		} else {
			owner = name
		}
	}
	if owner == "" && (held || patches) {
		return nil, nil // the value from before the first patch is already recorded
	}
	t, err := NewPrevious(path, there, owner)
	if err != nil {
		return nil, fmt.Errorf("remember %s of %s: %w", fieldset.PathText(path), mark.RefOf(p.Object), err)
	}
	return &t, nil
}

// writePrevious writes AnnotationTaken, in exactly the version seen.
func (w *Writer) writePrevious(ctx context.Context, p Patch, list []Previous) (*unstructured.Unstructured, error) {
	ref := mark.RefOf(p.Object)
	var recorded any // null removes the annotation
	if len(list) > 0 {
		text, err := fieldset.MarshalText(list)
		if err != nil {
			return nil, fmt.Errorf("encode the previous values of %s: %w", ref, err)
		}
		recorded = text
	}
	answer, err := w.server.PatchMetadata(ctx, p.GVR, ref, RestoreManager, map[string]any{
		"uid": string(ref.UID), "resourceVersion": p.Object.GetResourceVersion(),
		"annotations": map[string]any{AnnotationTaken: recorded},
	})
	return answer, apply.OfTarget("record the previous values of", ref, err)
}
