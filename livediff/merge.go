package livediff

import (
	"errors"
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/merge"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"kanon.dev/kanon/engine/apply/fieldset"
)

// applied is the live object after its managedFields became entries and Kanon applied content to it, by the API server's own code.
func (w *writing) applied(entries []any, content map[string]any) (*unstructured.Unstructured, error) {
	live, err1 := w.kind.TypedLive(w.live)
	config, err2 := w.kind.Converter.ObjectToTyped(&unstructured.Unstructured{Object: content})
	managers, err3 := w.managers(entries)
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, err
	}
	updater := (&merge.UpdaterBuilder{Converter: oneVersion{}, ReturnInputOnNoop: true}).BuildUpdater()
	merged, _, err := updater.Apply(live, config, fieldpath.APIVersion(w.kind.Version), managers, fieldset.Manager, true)
	if err != nil {
		return nil, err
	}
	return w.untyped(merged)
}

func (w *writing) untyped(value *typed.TypedValue) (*unstructured.Unstructured, error) {
	object, err := w.kind.Converter.TypedToObject(value)
	if err != nil {
		return nil, err
	}
	next, ok := object.(*unstructured.Unstructured)
	if !ok {
		return nil, fmt.Errorf("the merged object is a %T", object)
	}
	return next, nil
}

// managers are the owners of fields, by entries of managedFields: Kanon's apply under its name, and all others.
func (w *writing) managers(entries []any) (fieldpath.ManagedFields, error) {
	holder := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"managedFields": entries}}}
	managers := fieldpath.ManagedFields{}
	for i, e := range fieldset.EntriesOf(holder) {
		fields, err := e.Fields()
		if err != nil {
			return nil, err
		}
		name, isApply := strconv.Itoa(i), e.Operation == fieldset.OperationApply
		if e.Ours() && isApply {
			name = fieldset.Manager
		}
		managers[name] = fieldpath.NewVersionedSet(fields, fieldpath.APIVersion(w.kind.Version), isApply)
	}
	return managers, nil
}

// oneVersion takes the fields of all versions of a kind for the same: which of them others own is all that is asked, and only the API
// server can convert.
type oneVersion struct{}

// Convert implements merge.Converter.
func (oneVersion) Convert(object *typed.TypedValue, _ fieldpath.APIVersion) (*typed.TypedValue, error) {
	return object, nil
}

// IsMissingVersionError implements merge.Converter.
func (oneVersion) IsMissingVersionError(error) bool { return false }
