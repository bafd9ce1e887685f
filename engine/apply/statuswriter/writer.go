package statuswriter

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/apply/refusal"
	"kanon.dev/kanon/engine/apply/server"
	"kanon.dev/kanon/wire"
)

// Writer compares and writes statuses. It is safe for concurrent use.
type Writer struct {
	server *server.API
	// seed is what statuses are hashed with.
	seed    maphash.Seed
	settled settled
}

// New returns a Writer.
func New(to *server.API) *Writer { return &Writer{server: to, seed: maphash.MakeSeed()} }

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

// Sync applies a status where it differs from what the object says, or from what the manager holds. An object whose
// status is in place costs no request, another one an apply. The result is the object as it is then, and whether it was written.
//
// The error is a *refusal.ReplacedError when the object is gone or was replaced, or with Exact has changed, an *refusal.InvalidError when the content does not fit
// the kind's schema; any other error is worth another try.
func (w *Writer) Sync(ctx context.Context, s Status) (live *unstructured.Unstructured, written bool, err error) {
	inSync := false
	if len(s.Content) == 0 {
		// The entry says where the manager applied it, whatever discovery shows of the kind now: what is not
		// removed here is not removed by anyone.
		var subresource string
		subresource, inSync = s.appliedThrough()
		s.Subresource = subresource == "status"
	} else if inSync, err = w.inSync(ctx, s); err != nil {
		return nil, false, err
	}
	if inSync {
		return s.Object, false, nil
	}
	ref := mark.RefOf(s.Object)
	answer, err := w.apply(ctx, s)
	if err != nil && !refusal.IsReplaced(err) {
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
		return nil, false, refusal.OfTarget("apply the status of", ref, err)
	}
	if answer.GetUID() != ref.UID {
		return nil, false, w.withdraw(ctx, s, answer)
	}
	logr.FromContextOrDiscard(ctx).V(2).Info("applied the status")
	return answer, true, nil
}

// apply sends a status.
func (w *Writer) apply(ctx context.Context, s Status) (*unstructured.Unstructured, error) {
	ref, desired := mark.RefOf(s.Object), s.desired()
	desired.SetUID(s.Object.GetUID())
	if s.Exact {
		desired.SetResourceVersion(s.Object.GetResourceVersion())
	}
	body, err := wire.AppendJSON(nil, desired.Object)
	if err != nil {
		return nil, fmt.Errorf("encode the status of %s: %w", ref, err)
	}
	return w.server.Resource(s.GVR, ref.Namespace).Patch(ctx, ref.Name, types.ApplyPatchType, body, server.Strict(s.Manager, true), s.subresources()...)
}

// errAnotherUID says that an answer is about another object than the one that was seen.
var errAnotherUID = errors.New("an object with another UID has the name")

// withdraw takes back a status that came to another object of the same name: where a custom kind has a status subresource, the
// API server takes the UID in an apply to it for a part of the metadata, which it leaves alone.
func (w *Writer) withdraw(ctx context.Context, s Status, stranger *unstructured.Unstructured) error {
	ref := mark.RefOf(s.Object)
	s.Object, s.Content = stranger, nil
	_, _, err := w.Sync(ctx, s)
	err = errors.Join(errAnotherUID, err)
	return &refusal.ReplacedError{Ref: ref, Err: err}
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

// PlaceConditions makes conditions the whole of status.conditions of s.Object, in exactly the version that it has. It is for
// kinds that take this list for one value, where an apply would make it the manager's alone. The content of s does not
// matter.
//
// The error is a *refusal.ReplacedError when the object has changed, is gone or was replaced, an *refusal.InvalidError when the list is
// refused; any other error is worth another try.
func (w *Writer) PlaceConditions(ctx context.Context, s Status, conditions []any) (*unstructured.Unstructured, error) {
	ref := mark.RefOf(s.Object)
	operations := fieldset.ExactlyThis(s.Object)
	if _, ok := s.Object.Object["status"].(map[string]any); ok {
		operations = append(operations, fieldset.Operation{Op: "add", Path: "/status/conditions", Value: conditions})
	} else {
		operations = append(operations, fieldset.Operation{Op: "add", Path: "/status", Value: map[string]any{"conditions": conditions}})
	}
	answer, err := w.server.PatchSteps(ctx, s.GVR, ref, server.Strict(s.Manager, false), operations, s.subresources()...)
	if err != nil {
		return nil, refusal.OfTarget("place the conditions of", ref, err)
	}
	logr.FromContextOrDiscard(ctx).V(2).Info("placed the conditions", "parent", ref.String())
	return answer, nil
}
