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

// applied returns the live object as it is after its managedFields become entries and a manager applies content. The
// API server's own code computes it.
func applied(kind fieldset.Kind, live *unstructured.Unstructured, entries []any, manager string, content map[string]any) (*unstructured.Unstructured, error) {
	before, err1 := kind.TypedLive(live)
	config, err2 := kind.Converter.ObjectToTyped(&unstructured.Unstructured{Object: content})
	managers, err3 := managersOf(kind, entries, manager)
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, err
	}
	updater := (&merge.UpdaterBuilder{Converter: oneVersion{}, ReturnInputOnNoop: true}).BuildUpdater()
	merged, _, err := updater.Apply(before, config, fieldpath.APIVersion(kind.Version), managers, manager, true)
	if err != nil {
		return nil, err
	}
	return untyped(kind, merged)
}

func untyped(kind fieldset.Kind, value *typed.TypedValue) (*unstructured.Unstructured, error) {
	object, err := kind.Converter.TypedToObject(value)
	if err != nil {
		return nil, err
	}
	next, ok := object.(*unstructured.Unstructured)
	if !ok {
		return nil, fmt.Errorf("the merged object is a %T", object)
	}
	return next, nil
}

// managersOf returns the owners of fields by the entries of managedFields: what the manager has applied goes under its
// own name, the other entries under a number each.
func managersOf(kind fieldset.Kind, entries []any, manager string) (fieldpath.ManagedFields, error) {
	holder := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"managedFields": entries}}}
	managers := fieldpath.ManagedFields{}
	for i, e := range fieldset.EntriesOf(holder) {
		fields, err := e.Fields()
		if err != nil {
			return nil, err
		}
		name, isApply := strconv.Itoa(i), e.Operation == fieldset.OperationApply
		if e.Manager == manager && e.Subresource == "" && isApply {
			name = manager
		}
		managers[name] = fieldpath.NewVersionedSet(fields, fieldpath.APIVersion(kind.Version), isApply)
	}
	return managers, nil
}

// oneVersion converts between versions of a kind by changing nothing: only the API server can convert, and the result
// needs only the fields that others own.
type oneVersion struct{}

// Convert implements merge.Converter.
func (oneVersion) Convert(object *typed.TypedValue, _ fieldpath.APIVersion) (*typed.TypedValue, error) {
	return object, nil
}

// IsMissingVersionError implements merge.Converter.
func (oneVersion) IsMissingVersionError(error) bool { return false }
