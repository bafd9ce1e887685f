package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/wire"
)

// PlaceConditions makes conditions the whole of status.conditions of s.Object, in exactly the version that it has. It is for
// kinds that take this list for one value, where an apply would make it the manager's alone. The content of s does not
// matter.
//
// The error is a *ReplacedError when the object has changed, is gone or was replaced, an *InvalidError when the list is
// refused; any other error is worth another try.
func (w *Writer) PlaceConditions(ctx context.Context, s Status, conditions []any) (Result, error) {
	ref := mark.RefOf(s.Object)
	operations := []fieldset.Operation{
		{Op: "replace", Path: "/metadata/uid", Value: s.Object.GetUID()},
		{Op: "replace", Path: "/metadata/resourceVersion", Value: s.Object.GetResourceVersion()},
	}
	if _, ok := s.Object.Object["status"].(map[string]any); ok {
		operations = append(operations, fieldset.Operation{Op: "add", Path: "/status/conditions", Value: conditions})
	} else {
		operations = append(operations, fieldset.Operation{Op: "add", Path: "/status", Value: map[string]any{"conditions": conditions}})
	}
	answer, err := w.patchSteps(ctx, s.GVR, ref, strict(s.Manager, false), operations, s.subresources()...)
	if err != nil {
		return Result{}, targetError("place the conditions of", ref, err)
	}
	logr.FromContextOrDiscard(ctx).V(2).Info("placed the conditions", "parent", ref.String())
	return Result{Live: answer, Action: ActionApplied}, nil
}

// HoldsConditions reports whether the manager of s wrote the list of conditions as a whole, and nobody has since.
func HoldsConditions(s Status) bool {
	return heldBy(s.Object, s.Manager).Has(fieldpath.MakePathOrDie("status", "conditions"))
}

// heldBy are the paths that a manager holds.
func heldBy(obj *unstructured.Unstructured, manager string) *fieldpath.Set {
	return fieldset.Held(obj, func(e fieldset.Entry) bool { return e.Manager == manager })
}

// Status is what one field manager has to say in the status of an object.
type Status struct {
	// GVR is where the object is.
	GVR schema.GroupVersionResource
	// Object is the newest known state of the object; read-only.
	Object *unstructured.Unstructured
	// Manager is the field manager: one for each rule, so that rules do not take fields from one another.
	Manager string
	// Content is the whole of what the manager says under status. Paths that it said before and does not say now are
	// removed, unless another manager has them too. An empty one says nothing: all that it ever said is removed.
	Content map[string]any
	// Exact has the status applied only to Object in the version that it has there: a content that was computed from the
	// status is not written over one that has changed since.
	Exact bool
	// Subresource is true where the kind has a status subresource; without one, the object itself is written.
	Subresource bool
}

// SyncStatus applies a status where it differs from what the object says, or from what the manager holds. An object whose
// status is in place costs no request, another one an apply.
//
// The error is a *ReplacedError when the object is gone or was replaced, or with Exact has changed, an *InvalidError when the content does not fit
// the kind's schema; any other error is worth another try.
func (w *Writer) SyncStatus(ctx context.Context, s Status) (Result, error) {
	inSync, err := false, error(nil)
	if len(s.Content) == 0 {
		// The entry says where the manager applied it, whatever discovery shows of the kind now: what is not
		// removed here is not removed by anyone.
		var subresource string
		subresource, inSync = s.appliedThrough()
		s.Subresource = subresource == "status"
	} else if inSync, err = w.statusInSync(ctx, s); err != nil {
		return Result{}, err
	}
	if inSync {
		return Result{Live: s.Object, Action: ActionNone}, nil
	}
	ref := mark.RefOf(s.Object)
	answer, err := w.applyStatus(ctx, s)
	if err != nil && !isReplaced(err) {
		mended, mendErr := w.removeMisfits(ctx, s)
		if mendErr != nil {
			return Result{}, mendErr
		}
		if mended != nil {
			s.Object = mended
			answer, err = w.applyStatus(ctx, s)
		}
	}
	if err != nil {
		return Result{}, targetError("apply the status of", ref, err)
	}
	if answer.GetUID() != ref.UID {
		return Result{}, w.withdraw(ctx, s, answer)
	}
	logr.FromContextOrDiscard(ctx).V(2).Info("applied the status")
	return Result{Live: answer, Action: ActionApplied}, nil
}

// applyStatus sends a status.
func (w *Writer) applyStatus(ctx context.Context, s Status) (*unstructured.Unstructured, error) {
	ref, desired := mark.RefOf(s.Object), s.desired()
	desired.SetUID(s.Object.GetUID())
	if s.Exact {
		desired.SetResourceVersion(s.Object.GetResourceVersion())
	}
	body, err := wire.AppendJSON(nil, desired.Object)
	if err != nil {
		return nil, fmt.Errorf("encode the status of %s: %w", ref, err)
	}
	return w.resource(s.GVR, ref.Namespace).Patch(ctx, ref.Name, types.ApplyPatchType, body, strict(s.Manager, true), s.subresources()...)
}

// errAnotherUID says that an answer is about another object than the one that was seen.
var errAnotherUID = errors.New("an object with another UID has the name")

// withdraw takes back a status that came to another object of the same name: where a custom kind has a status subresource, the
// API server takes the UID in an apply to it for a part of the metadata, which it leaves alone.
func (w *Writer) withdraw(ctx context.Context, s Status, stranger *unstructured.Unstructured) error {
	ref := mark.RefOf(s.Object)
	s.Object, s.Content = stranger, nil
	_, err := w.SyncStatus(ctx, s)
	err = errors.Join(errAnotherUID, err)
	return &ReplacedError{Ref: ref, Err: err}
}

// desired is the object as the manager applies it, without a UID.
func (s Status) desired() *unstructured.Unstructured {
	desired := &unstructured.Unstructured{Object: map[string]any{}}
	if len(s.Content) > 0 {
		desired.Object["status"] = s.Content
	}
	desired.SetGroupVersionKind(s.Object.GroupVersionKind())
	desired.SetName(s.Object.GetName())
	desired.SetNamespace(s.Object.GetNamespace())
	return desired
}

func (s Status) subresources() []string {
	if s.Subresource {
		return []string{"status"}
	}
	return nil
}

// appliedThrough is the subresource that the manager's entry was applied through, in any version of the API; none is true where
// the manager has no entry.
func (s Status) appliedThrough() (subresource string, none bool) {
	for _, e := range fieldset.EntriesOf(s.Object) {
		if e.Manager == s.Manager && e.Operation == fieldset.OperationApply {
			return e.Subresource, false
		}
	}
	return "", true
}

// statusInSync reports whether the manager holds exactly the paths of the content and the object has its values.
func (w *Writer) statusInSync(ctx context.Context, s Status) (bool, error) {
	kind, err := w.kinds.load(ctx, w.schemas, s.Object.GroupVersionKind())
	if err != nil {
		return false, err
	}
	source, known := w.sourceOfStatus(kind, s)
	if known && w.settled.has(source) {
		return true, nil
	}
	inSync := s.isInPlace(kind)
	if known && inSync {
		w.settled.add(source)
	}
	return inSync, nil
}

// isInPlace reports what statusInSync does, by a schema. What cannot be compared is not in place: the API server says better what
// does not fit.
func (s Status) isInPlace(k fieldset.Kind) bool {
	wanted, err := k.Converter.ObjectToTyped(s.desired())
	if err != nil {
		return false
	}
	paths, err := wanted.ToFieldSet()
	if err != nil || !s.holds(paths.Difference(fieldset.IdentityPaths())) {
		return false
	}
	live, err := s.typedStatus(k)
	if err != nil {
		return false
	}
	difference, err := wanted.Compare(live.ExtractItems(paths.Leaves(), typed.WithAppendKeyFields()))
	return err == nil && difference.IsSame()
}

// typedStatus reads the status of the object; but for its name the rest of it is left out.
func (s Status) typedStatus(k fieldset.Kind) (*typed.TypedValue, error) {
	s.Content = nil
	live := s.desired()
	if status, ok := s.Object.Object["status"]; ok {
		live.Object["status"] = status
	}
	return k.Converter.ObjectToTyped(live, typed.AllowDuplicates)
}

// holds reports whether the manager's entry has exactly these paths.
func (s Status) holds(paths *fieldpath.Set) bool {
	e, ok := s.entry()
	if !ok {
		return paths.Empty()
	}
	held, err := e.Fields()
	return err == nil && held.Equals(paths)
}

// entry is the manager's entry in managedFields.
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

// HeldStatus is what the manager said last, as far as it still holds it, with the values that the object has now; nil
// when that is nothing. The content of s does not matter. The result shares no memory with the object. The error is that
// the schema could not be loaded, or that the status does not fit it.
func (w *Writer) HeldStatus(ctx context.Context, s Status) (map[string]any, error) {
	live, paths, err := w.statusAndPaths(ctx, s)
	if live == nil || err != nil {
		return nil, err
	}
	return runtime.DeepCopyJSON(statusIn(live.ExtractItems(paths.Leaves(), typed.WithAppendKeyFields()))), nil
}

// statusAndPaths are the status of s.Object and the paths of it that the manager holds; nil where it has no entry.
func (w *Writer) statusAndPaths(ctx context.Context, s Status) (live *typed.TypedValue, paths *fieldpath.Set, err error) {
	e, ok := s.entry()
	if !ok {
		return nil, nil, nil
	}
	kind, err := w.kinds.load(ctx, w.schemas, s.Object.GroupVersionKind())
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

// statusIn is the status in a typed object.
func statusIn(v *typed.TypedValue) map[string]any {
	object, _ := v.AsValue().Unstructured().(map[string]any)
	status, _ := object["status"].(map[string]any)
	return status
}

// OthersStatus is the status of s.Object without what the manager of s holds of it, and without what is empty then; the
// content of s does not matter. It may share memory with the object. The error is that the schema could not be loaded, or
// that the status does not fit it.
func (w *Writer) OthersStatus(ctx context.Context, s Status) (map[string]any, error) {
	live, paths, err := w.statusAndPaths(ctx, s)
	switch {
	case err != nil:
		return nil, err
	case live == nil:
		status, _ := s.Object.Object["status"].(map[string]any)
		return withoutEmpty(status), nil
	}
	return withoutEmpty(statusIn(live.RemoveItems(paths))), nil
}

// withoutEmpty leaves out the fields, at any depth, that hold nothing.
func withoutEmpty(fields map[string]any) map[string]any {
	left := make(map[string]any, len(fields))
	for name, value := range fields {
		switch v := value.(type) {
		case nil:
			continue
		case map[string]any:
			if v = withoutEmpty(v); len(v) == 0 {
				continue
			}
			value = v
		case []any:
			if len(v) == 0 {
				continue
			}
		}
		left[name] = value
	}
	return left
}

// HeldByAnother reports whether a manager other than the one given, one for which counts is true, holds a field of the
// condition of one of those types in the status of obj that the one given does not hold. Such a condition was taken over, or was
// never the given one's to write. Fields that both hold, because both said the same, decide nothing.
func HeldByAnother(obj *unstructured.Unstructured, manager string, counts func(manager string) bool, conditionTypes ...string) bool {
	own := heldBy(obj, manager)
	others := fieldset.Held(obj, func(e fieldset.Entry) bool { return e.Manager != manager && counts(e.Manager) })
	return slices.ContainsFunc(conditionTypes, func(conditionType string) bool {
		return slices.ContainsFunc(conditionPaths(conditionType), func(path fieldpath.Path) bool {
			return others.Has(path) && !own.Has(path)
		})
	})
}

// HoldsCondition reports whether a manager holds a field of the condition of that type in the status of obj.
func HoldsCondition(obj *unstructured.Unstructured, manager, conditionType string) bool {
	return slices.ContainsFunc(conditionPaths(conditionType), heldBy(obj, manager).Has)
}

// conditionPaths are the paths of what a condition says.
func conditionPaths(conditionType string) []fieldpath.Path {
	condition := fieldpath.MakePathOrDie("status", "conditions", fieldpath.KeyByFields("type", conditionType))
	names := []string{"status", "reason", "message", "observedGeneration", "lastTransitionTime"}
	paths := make([]fieldpath.Path, len(names))
	for i := range names {
		paths[i] = append(condition.Copy(), fieldpath.PathElement{FieldName: &names[i]})
	}
	return paths
}
