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

// AnnotationTaken remembers, in an object that patches are for, what the fields had that patches took from others, so
// that it can be restored. It is one for all patches of all rules: the first that takes a field writes down what was
// there, and the last that releases it puts that back.
const AnnotationTaken = "kanon.dev/taken"

// RestoreManager is the field manager of AnnotationTaken, and of values that had no manager before a patch took them.
const RestoreManager = "kanon-taken"

// Previous is the value that a field had before a patch took it.
type Previous struct {
	// Path has the elements of the path as managedFields write them: f:spec, k:{"name":"web"}.
	Path  []string `json:"path"`
	Value any      `json:"value"`
	// Owner is the field manager; empty where the field had none.
	Owner string `json:"owner,omitempty"`
}

// PreviousOf reads AnnotationTaken; what cannot be read is nothing.
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

// Fields is the path of the field; false where it cannot be read.
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

// NewPrevious is the value at a path that belongs to an owner; an empty owner: to nobody.
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

// ContainsPath reports whether a list has a value for the path of another one.
func ContainsPath(list []Previous, t Previous) bool {
	return slices.ContainsFunc(list, func(o Previous) bool { return slices.Equal(o.Path, t.Path) })
}

// SplitPrevious sorts what is recorded in obj, if a manager that holds some paths is to set content (nil: nothing): what stays
// recorded, because a patch has the field still, and what is restored now. What somebody else has by now is neither.
func SplitPrevious(obj *unstructured.Unstructured, manager string, content *Part, held *fieldpath.Set) (kept, restored []Previous) {
	for _, t := range PreviousOf(obj) {
		path, ok := t.Fields()
		if !ok {
			continue // nobody knows what it is
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

// MoveOwnership is managedFields with paths moved from the manager of a patch to an owner, as if that had updated them. A
// value that is the same as before would otherwise stay the patch's, and go with it.
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

// HasUnusedPrevious reports whether a value is remembered in obj of a field that no patch has: whoever was about to take it did not
// get to that.
func HasUnusedPrevious(obj *unstructured.Unstructured) bool {
	return slices.ContainsFunc(PreviousOf(obj), func(t Previous) bool {
		path, ok := t.Fields()
		patched, _ := OtherOwners(obj, path, "")
		return !ok || !patched
	})
}

// LookUp is the value at a path of an object.
func LookUp(at any, path fieldpath.Path) (any, bool) {
	for _, element := range path {
		next, _, ok := fieldset.StepInto(at, element)
		if !ok {
			return nil, false
		}
		at = next
	}
	return at, true
}
