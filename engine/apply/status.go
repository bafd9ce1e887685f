package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"kanon.dev/kanon/wire"
)

// Status is what one field manager has to say in the status of an object.
type Status struct {
	// GVR is where the object is.
	GVR schema.GroupVersionResource
	// Object is the newest knowledge of it; read-only.
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
	desired := s.desired()
	inSync, err := false, error(nil)
	if len(s.Content) == 0 {
		// The entry says where the manager applied it, whatever discovery shows of the kind now: what is not
		// removed here is not removed by anyone.
		var subresource string
		subresource, inSync = s.heldThrough()
		s.Subresource = subresource == "status"
	} else if inSync, err = w.statusInSync(ctx, s, desired); err != nil {
		return Result{}, err
	}
	if inSync {
		return Result{Live: s.Object, Action: ActionNone}, nil
	}
	ref := RefOf(s.Object)
	desired.SetUID(s.Object.GetUID())
	if s.Exact {
		desired.SetResourceVersion(s.Object.GetResourceVersion())
	}
	body, err := wire.AppendJSON(nil, desired.Object)
	if err != nil {
		return Result{}, fmt.Errorf("encode the status of %s: %w", ref, err)
	}
	force := true
	answer, err := w.resource(s.GVR, ref.Namespace).Patch(ctx, ref.Name, types.ApplyPatchType, body, metav1.PatchOptions{
		FieldManager:    s.Manager,
		Force:           &force,
		FieldValidation: metav1.FieldValidationStrict,
	}, s.subresources()...)
	if err != nil {
		return Result{}, refusal("apply the status of", ref, err)
	}
	if answer.GetUID() != ref.UID {
		return Result{}, w.retract(ctx, s, answer)
	}
	logr.FromContextOrDiscard(ctx).V(2).Info("applied the status", "parent", ref.String())
	return Result{Live: answer, Action: ActionApplied}, nil
}

// errOfAnother says that an answer is about another object than the one that was seen.
var errOfAnother = errors.New("an object with another UID has the name")

// retract takes back a status that came to another object of the same name: where a custom kind has a status subresource, the
// API server takes the UID in an apply to it for a part of the metadata, which it leaves alone.
func (w *Writer) retract(ctx context.Context, s Status, stranger *unstructured.Unstructured) error {
	ref := RefOf(s.Object)
	s.Object, s.Content = stranger, nil
	_, err := w.SyncStatus(ctx, s)
	err = errors.Join(errOfAnother, err)
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

// heldThrough is the subresource that the manager's entry was applied through, in any version of the API; none is true where
// the manager has no entry.
func (s Status) heldThrough() (subresource string, none bool) {
	for _, e := range entriesOf(s.Object) {
		if e.manager == s.Manager && e.operation == operationApply {
			return e.subresource, false
		}
	}
	return "", true
}

// statusInSync says whether the manager holds exactly the paths of desired and the object has its values.
func (w *Writer) statusInSync(ctx context.Context, s Status, desired *unstructured.Unstructured) (bool, error) {
	kind, err := w.kinds.load(ctx, w.schemas, s.Object.GroupVersionKind())
	if err != nil {
		return false, err
	}
	wanted, err := kind.converter.ObjectToTyped(desired)
	if err != nil {
		return false, nil //nolint:nilerr // the API server says better what does not fit
	}
	paths, err := wanted.ToFieldSet()
	if err != nil {
		return false, nil //nolint:nilerr // as above
	}
	if !s.holds(paths.Difference(identityPaths())) {
		return false, nil
	}
	live, err := s.typedStatus(kind)
	if err != nil {
		return false, nil //nolint:nilerr // what cannot be compared is applied
	}
	difference, err := wanted.Compare(live.ExtractItems(paths.Leaves(), typed.WithAppendKeyFields()))
	return err == nil && difference.IsSame(), nil
}

// typedStatus reads the status of the object; but for its name the rest of it is left out.
func (s Status) typedStatus(k kind) (*typed.TypedValue, error) {
	s.Content = nil
	live := s.desired()
	if status, ok := s.Object.Object["status"]; ok {
		live.Object["status"] = status
	}
	return k.converter.ObjectToTyped(live, typed.AllowDuplicates)
}

// holds says whether the manager's entry has exactly these paths.
func (s Status) holds(paths *fieldpath.Set) bool {
	e, ok := s.entry()
	if !ok {
		return paths.Empty()
	}
	held, err := e.fields()
	return err == nil && held.Equals(paths)
}

// entry is the manager's entry in managedFields.
func (s Status) entry() (entry, bool) {
	entries := entriesOf(s.Object)
	i := slices.IndexFunc(entries, func(e entry) bool {
		return e.manager == s.Manager && e.operation == operationApply &&
			e.apiVersion == s.Object.GetAPIVersion() && (e.subresource == "status") == s.Subresource
	})
	if i < 0 {
		return entry{}, false
	}
	return entries[i], true
}

// HeldStatus is what the manager said last, as far as it still holds it, with the values that the object has now; nil
// when that is nothing. The content of s does not matter. The result shares no memory with the object. The error is that
// the schema could not be loaded, or that what is there does not fit it.
func (w *Writer) HeldStatus(ctx context.Context, s Status) (map[string]any, error) {
	e, ok := s.entry()
	if !ok {
		return nil, nil
	}
	kind, err := w.kinds.load(ctx, w.schemas, s.Object.GroupVersionKind())
	if err != nil {
		return nil, err
	}
	paths, err := e.fields()
	if err != nil {
		return nil, err
	}
	live, err := s.typedStatus(kind)
	if err != nil {
		return nil, fmt.Errorf("read the status of %s: %w", RefOf(s.Object), oneLine(err))
	}
	held, _ := live.ExtractItems(paths.Leaves(), typed.WithAppendKeyFields()).AsValue().Unstructured().(map[string]any)
	status, _ := held["status"].(map[string]any)
	return runtime.DeepCopyJSON(status), nil
}

// OthersStatus is the status of s.Object without what the manager of s holds of it, and without what is empty then; the
// content of s does not matter. It may share memory with the object. The error is that the schema could not be loaded, or
// that what is there does not fit it.
func (w *Writer) OthersStatus(ctx context.Context, s Status) (map[string]any, error) {
	e, ok := s.entry()
	if !ok {
		status, _ := s.Object.Object["status"].(map[string]any)
		return withoutEmpty(status), nil
	}
	kind, err := w.kinds.load(ctx, w.schemas, s.Object.GroupVersionKind())
	if err != nil {
		return nil, err
	}
	paths, err := e.fields()
	if err != nil {
		return nil, err
	}
	live, err := s.typedStatus(kind)
	if err != nil {
		return nil, fmt.Errorf("read the status of %s: %w", RefOf(s.Object), oneLine(err))
	}
	others, _ := live.RemoveItems(paths).AsValue().Unstructured().(map[string]any)
	status, _ := others["status"].(map[string]any)
	return withoutEmpty(status), nil
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

// HeldByAnother says whether a manager other than the one given, one for which counts is true, holds a field of the
// condition of one of those types in the status of obj that the one given does not hold. Such a condition was taken over, or was
// never the given one's to write. Fields that both hold, because both said the same, decide nothing.
func HeldByAnother(obj *unstructured.Unstructured, manager string, counts func(manager string) bool, conditionTypes ...string) bool {
	own, others := &fieldpath.Set{}, &fieldpath.Set{}
	for _, e := range entriesOf(obj) {
		set, err := e.fields()
		if err != nil {
			continue // an entry that cannot be read holds nothing that is known
		}
		switch {
		case e.manager == manager:
			own = own.Union(set)
		case counts(e.manager):
			others = others.Union(set)
		}
	}
	return slices.ContainsFunc(conditionTypes, func(conditionType string) bool {
		return slices.ContainsFunc(conditionPaths(conditionType), func(path fieldpath.Path) bool {
			return others.Has(path) && !own.Has(path)
		})
	})
}

// HoldsCondition says whether a manager holds a field of the condition of that type in the status of obj.
func HoldsCondition(obj *unstructured.Unstructured, manager, conditionType string) bool {
	paths := conditionPaths(conditionType)
	for _, e := range entriesOf(obj) {
		if e.manager != manager {
			continue
		}
		if set, err := e.fields(); err == nil && slices.ContainsFunc(paths, set.Has) {
			return true
		}
	}
	return false
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
