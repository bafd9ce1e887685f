package apply

import (
	"context"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/apply/mark"
)

// A status that was set before the kind's definition changed may have another type than the schema now requires. The
// API server keeps such a value, but refuses every apply of the object until it is gone. So the manager removes such
// values that it set itself, and sets them again.

// misfits returns the paths of what the manager set in the status that have another type than in the schema.
func (s Status) misfits(k fieldset.Kind) []fieldpath.Path {
	e, ok := s.entry()
	if !ok {
		return nil
	}
	held, err := e.Fields()
	if err != nil {
		return nil
	}
	fits := func(path fieldpath.Path, value any) bool {
		for _, step := range slices.Backward(path) {
			value = map[string]any{*step.FieldName: value}
		}
		object := s.desired()
		object.Object["status"] = value.(map[string]any)["status"] //nolint:forcetypeassert // every path begins with status
		_, err := k.Converter.ObjectToTyped(object, typed.AllowDuplicates)
		return err == nil
	}
	s.Content = nil
	var found []fieldpath.Path
	held.Leaves().Iterate(func(path fieldpath.Path) {
		if len(path) < 2 || slices.ContainsFunc(path, func(step fieldpath.PathElement) bool { return step.FieldName == nil }) {
			return // it has list items, which other managers may own too
		}
		at := any(s.Object.Object)
		for i, step := range path {
			if at, _, ok = fieldset.StepInto(at, step); !ok {
				return
			}
			value := at
			if i < len(path)-1 {
				value = map[string]any{}
			}
			if i > 0 && !fits(path[:i+1], value) {
				misfit := slices.Clone(path[:i+1])
				if !slices.ContainsFunc(found, misfit.Equals) {
					found = append(found, misfit)
				}
				return
			}
		}
	})
	return found
}

// withoutMisfits returns s with an object without misfits. It returns false if there are none.
func (s Status) withoutMisfits(k fieldset.Kind) (Status, bool) {
	misfits := s.misfits(k)
	if len(misfits) == 0 {
		return s, false
	}
	s.Object = s.Object.DeepCopy()
	for _, path := range misfits {
		names := make([]string, len(path))
		for i, step := range path {
			names[i] = *step.FieldName
		}
		unstructured.RemoveNestedField(s.Object.Object, names...)
	}
	return s, true
}

// removeMisfits removes the misfits from the object, in exactly the version seen, and returns the resulting object;
// nil if there are none.
func (w *StatusWriter) removeMisfits(ctx context.Context, s Status) (*unstructured.Unstructured, error) {
	kind, err := w.server.Kind(ctx, s.Object.GroupVersionKind())
	if err != nil {
		return nil, err
	}
	misfits := s.misfits(kind)
	if len(misfits) == 0 {
		return nil, nil
	}
	ref := mark.RefOf(s.Object)
	operations := fieldset.ExactlyThis(s.Object)
	for _, path := range misfits {
		var pointer strings.Builder
		for _, step := range path {
			pointer.WriteString("/" + fieldset.EscapePointer(*step.FieldName))
		}
		operations = append(operations, fieldset.Operation{Op: "remove", Path: pointer.String()})
	}
	answer, err := w.server.PatchSteps(ctx, s.GVR, ref, Strict(s.Manager, false), operations, s.subresources()...)
	if err != nil {
		return nil, OfTarget("remove what has another type from the status of", ref, err)
	}
	logr.FromContextOrDiscard(ctx).V(2).Info("removed what has another type from the status", "parent", ref.String())
	return answer, nil
}
