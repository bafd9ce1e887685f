package statuswriter

import (
	"context"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/apply/refusal"
	"kanon.dev/kanon/engine/apply/server"
)

// PlaceConditions makes conditions the whole of status.conditions of s.Object, in exactly the version that it has. It is for
// kinds that take this list for one value, where an apply would make it the manager's alone. The content of s does not
// matter.
//
// The error is a *refusal.ReplacedError when the object has changed, is gone or was replaced, an *refusal.InvalidError when the list is
// refused; any other error is worth another try.
func (w *Writer) PlaceConditions(ctx context.Context, s Status, conditions []any) (*unstructured.Unstructured, error) {
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
	answer, err := w.server.PatchSteps(ctx, s.GVR, ref, server.Strict(s.Manager, false), operations, s.subresources()...)
	if err != nil {
		return nil, refusal.OfTarget("place the conditions of", ref, err)
	}
	logr.FromContextOrDiscard(ctx).V(2).Info("placed the conditions", "parent", ref.String())
	return answer, nil
}
