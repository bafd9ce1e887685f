package apply

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"kanon.dev/kanon/engine/apply/fieldset"
)

// appliedThrough returns the subresource that the manager's entry was applied through, in any API version. none is
// true if the manager has no entry.
func (s Status) appliedThrough() (subresource string, none bool) {
	for _, e := range fieldset.EntriesOf(s.Object) {
		if e.Manager == s.Manager && e.Operation == fieldset.OperationApply {
			return e.Subresource, false
		}
	}
	return "", true
}

// IsInPlace reports whether the manager owns exactly the paths of the content and the object has its values.
func (w *StatusWriter) IsInPlace(ctx context.Context, s Status) (bool, error) {
	kind, err := w.server.Kind(ctx, s.Object.GroupVersionKind())
	if err != nil {
		return false, err
	}
	return s.isInPlace(kind), nil
}

// isInPlace is IsInPlace with the schema of the kind. What cannot be compared is not in place: the API server reports better what
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
	live := s.live()
	if _, err := k.Converter.ObjectToTyped(live); err == nil { // without duplicates, a path leads to one value
		return fieldset.SameValues(paths.Leaves(), s.desired().Object, live.Object)
	}
	typedLive, err := k.Converter.ObjectToTyped(live, typed.AllowDuplicates)
	if err != nil {
		return false
	}
	difference, err := wanted.Compare(typedLive.ExtractItems(paths.Leaves(), typed.WithAppendKeyFields()))
	return err == nil && difference.IsSame()
}

// live returns the object with only its name and status.
func (s Status) live() *unstructured.Unstructured {
	s.Content = nil
	live := s.desired()
	if status, ok := s.Object.Object["status"]; ok {
		live.Object["status"] = status
	}
	return live
}

// typedStatus returns live as a typed value.
func (s Status) typedStatus(k fieldset.Kind) (*typed.TypedValue, error) {
	return k.Converter.ObjectToTyped(s.live(), typed.AllowDuplicates)
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
