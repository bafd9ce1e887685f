package patchset

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

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

// ContainsPath reports whether a list has an entry for the path of t.
func ContainsPath(list []Previous, t Previous) bool {
	return slices.ContainsFunc(list, func(o Previous) bool { return slices.Equal(o.Path, t.Path) })
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
