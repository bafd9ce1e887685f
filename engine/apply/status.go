package apply

import (
	"context"
	"errors"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/apply/mark"
)

// StatusWriter writes what one field manager sets in the status of an object, and decides without a request whether a
// write is needed. It is safe for concurrent use.
type StatusWriter struct{ server *API }

// NewStatusWriter returns a StatusWriter.
func NewStatusWriter(to *API) *StatusWriter { return &StatusWriter{server: to} }

// Status is what one field manager sets in the status of an object.
type Status struct {
	// GVR is the resource of the object.
	GVR schema.GroupVersionResource
	// Object is the newest known state of the object; read-only.
	Object *unstructured.Unstructured
	// Manager is the field manager: one for each rule, so that rules do not take fields from one another.
	Manager string
	// Content is everything that the manager sets under status. Paths that it set before and no longer sets are
	// removed, unless another manager owns them too. If empty, everything that it ever set is removed.
	Content map[string]any
	// Exact applies the status only to the resourceVersion of Object, so that a content that was computed from the
	// status does not overwrite a newer status.
	Exact bool
	// Subresource is true if the kind has a status subresource. Otherwise the object itself is written.
	Subresource bool
}

// Sync applies a status if the object has other values, or the manager owns other paths. If the status is in place,
// Sync sends no request; otherwise one apply. It returns the resulting object and whether it was written.
//
// The error is a *ReplacedError if the object is gone, was replaced or, with Exact, has changed; and a
// *InvalidError if the content does not fit the kind's schema. Any other error is worth a retry.
func (w *StatusWriter) Sync(ctx context.Context, s Status) (live *unstructured.Unstructured, written bool, err error) {
	inSync := false
	if len(s.Content) == 0 {
		// The entry records how the manager applied it, whatever discovery reports about the kind now. What is not
		// removed here is never removed.
		var subresource string
		subresource, inSync = s.appliedThrough()
		s.Subresource = subresource == "status"
	} else if inSync, err = w.IsInPlace(ctx, s); err != nil {
		return nil, false, err
	}
	if inSync {
		return s.Object, false, nil
	}
	ref := mark.RefOf(s.Object)
	answer, err := w.apply(ctx, s)
	if err != nil && !IsReplaced(err) {
		mended, mendErr := w.removeMisfits(ctx, s)
		if mendErr != nil {
			return nil, false, mendErr
		}
		if mended != nil {
			s.Object = mended
			answer, err = w.apply(ctx, s)
		}
	}
	if err != nil {
		return nil, false, OfTarget("apply the status of", ref, err)
	}
	if answer.GetUID() != ref.UID {
		return nil, false, w.withdraw(ctx, s, answer)
	}
	logr.FromContextOrDiscard(ctx).V(2).Info("applied the status")
	return answer, true, nil
}

// apply sends the status.
func (w *StatusWriter) apply(ctx context.Context, s Status) (*unstructured.Unstructured, error) {
	ref, desired := mark.RefOf(s.Object), s.desired()
	desired.SetUID(s.Object.GetUID())
	if s.Exact {
		desired.SetResourceVersion(s.Object.GetResourceVersion())
	}
	return w.server.Apply(ctx, s.GVR, ref, Strict(s.Manager, true), desired.Object, s.subresources()...)
}

// errAnotherUID means that the API server answered with another object than the one seen.
var errAnotherUID = errors.New("an object with another UID has the name")

// withdraw removes a status that was applied to another object of the same name. This can happen because the API
// server ignores the UID in an apply to the status subresource of a custom kind, as it ignores other metadata there.
func (w *StatusWriter) withdraw(ctx context.Context, s Status, stranger *unstructured.Unstructured) error {
	ref := mark.RefOf(s.Object)
	s.Object, s.Content = stranger, nil
	_, _, err := w.Sync(ctx, s)
	err = errors.Join(errAnotherUID, err)
	return &ReplacedError{Ref: ref, Err: err}
}

// desired returns the object as the manager applies it, without a UID.
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

// PlaceConditions replaces status.conditions of s.Object, in exactly the version seen. It is for kinds that treat
// this list as one value, where an apply would make all of it the manager's. It ignores the content of s.
//
// The error is a *ReplacedError if the object has changed, is gone or was replaced, and a
// *InvalidError if the list is refused. Any other error is worth a retry.
func (w *StatusWriter) PlaceConditions(ctx context.Context, s Status, conditions []any) (*unstructured.Unstructured, error) {
	ref := mark.RefOf(s.Object)
	operations := fieldset.ExactlyThis(s.Object)
	if _, ok := s.Object.Object["status"].(map[string]any); ok {
		operations = append(operations, fieldset.Operation{Op: "add", Path: "/status/conditions", Value: conditions})
	} else {
		operations = append(operations, fieldset.Operation{Op: "add", Path: "/status", Value: map[string]any{"conditions": conditions}})
	}
	answer, err := w.server.PatchSteps(ctx, s.GVR, ref, Strict(s.Manager, false), operations, s.subresources()...)
	if err != nil {
		return nil, OfTarget("place the conditions of", ref, err)
	}
	logr.FromContextOrDiscard(ctx).V(2).Info("placed the conditions", "parent", ref.String())
	return answer, nil
}
