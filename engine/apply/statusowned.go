package apply

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/apply/mark"
)

// Owned returns what the manager set last and still owns, with the current values of the object; nil if nothing. It
// ignores the content of s. The result shares no memory with the object. It fails if the schema cannot be loaded or
// the status does not fit it.
func (w *StatusWriter) Owned(ctx context.Context, s Status) (map[string]any, error) {
	live, paths, err := w.statusAndPaths(ctx, s)
	if live == nil || err != nil {
		return nil, err
	}
	return runtime.DeepCopyJSON(statusIn(live.ExtractItems(paths.Leaves(), typed.WithAppendKeyFields()))), nil
}

// statusAndPaths returns the status of s.Object and the paths in it that the manager owns; nil if it has no entry.
func (w *StatusWriter) statusAndPaths(ctx context.Context, s Status) (live *typed.TypedValue, paths *fieldpath.Set, err error) {
	e, ok := s.entry()
	if !ok {
		return nil, nil, nil
	}
	kind, err := w.server.Kind(ctx, s.Object.GroupVersionKind())
	if err != nil {
		return nil, nil, err
	}
	if paths, err = e.Fields(); err != nil {
		return nil, nil, err
	}
	if live, err = s.typedStatus(kind); err != nil {
		if without, ok := s.withoutMisfits(kind); ok {
			live, err = without.typedStatus(kind)
		}
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read the status of %s: %w", mark.RefOf(s.Object), fieldset.OneLine(err))
	}
	return live, paths, nil
}

// statusIn returns the status in a typed object.
func statusIn(v *typed.TypedValue) map[string]any {
	object, _ := v.AsValue().Unstructured().(map[string]any)
	status, _ := object["status"].(map[string]any)
	return status
}

// entry returns the manager's entry in managedFields.
func (s Status) entry() (fieldset.Entry, bool) {
	entries := fieldset.EntriesOf(s.Object)
	i := slices.IndexFunc(entries, func(e fieldset.Entry) bool {
		return e.Manager == s.Manager && e.Operation == fieldset.OperationApply &&
			e.APIVersion == s.Object.GetAPIVersion() && (e.Subresource == "status") == s.Subresource
	})
	if i < 0 {
		return fieldset.Entry{}, false
	}
	return entries[i], true
}

// OwnsConditions reports whether the manager of s owns the list of conditions as one value.
func OwnsConditions(s Status) bool {
	return ownedBy(s.Object, s.Manager).Has(fieldpath.MakePathOrDie("status", "conditions"))
}

// ownedBy returns the paths that a manager owns.
func ownedBy(obj *unstructured.Unstructured, manager string) *fieldpath.Set {
	return fieldset.Owned(obj, func(e fieldset.Entry) bool { return e.Manager == manager })
}

// IsOwnedByAnother reports whether another manager, for which counts is true, owns a field of a condition of one of
// these types in the status of obj that manager does not own. Such a condition was taken over, or never belonged to
// manager. Fields that both own, because both set the same value, do not count.
func IsOwnedByAnother(obj *unstructured.Unstructured, manager string, counts func(manager string) bool, conditionTypes ...string) bool {
	var paths []fieldpath.Path
	for _, conditionType := range conditionTypes {
		paths = append(paths, conditionPaths(conditionType)...)
	}
	return areOwnedByAnother(obj, manager, counts, paths)
}

// IsGenerationOwnedByAnother is IsOwnedByAnother for status.observedGeneration.
func IsGenerationOwnedByAnother(obj *unstructured.Unstructured, manager string, counts func(manager string) bool) bool {
	return areOwnedByAnother(obj, manager, counts, []fieldpath.Path{fieldpath.MakePathOrDie("status", "observedGeneration")})
}

func areOwnedByAnother(obj *unstructured.Unstructured, manager string, counts func(manager string) bool, paths []fieldpath.Path) bool {
	own := ownedBy(obj, manager)
	others := fieldset.Owned(obj, func(e fieldset.Entry) bool { return e.Manager != manager && counts(e.Manager) })
	return slices.ContainsFunc(paths, func(path fieldpath.Path) bool { return others.Has(path) && !own.Has(path) })
}

// OwnsCondition reports whether a manager owns a field of the condition of a type in the status of obj.
func OwnsCondition(obj *unstructured.Unstructured, manager, conditionType string) bool {
	return slices.ContainsFunc(conditionPaths(conditionType), ownedBy(obj, manager).Has)
}

// conditionPaths returns the paths of a condition's fields.
func conditionPaths(conditionType string) []fieldpath.Path {
	condition := fieldpath.MakePathOrDie("status", "conditions", fieldpath.KeyByFields("type", conditionType))
	names := []string{"status", "reason", "message", "observedGeneration", "lastTransitionTime"}
	paths := make([]fieldpath.Path, len(names))
	for i := range names {
		paths[i] = append(condition.Copy(), fieldpath.PathElement{FieldName: &names[i]})
	}
	return paths
}
