package apply

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// PlaceConditions makes conditions the whole of status.conditions of s.Object, in exactly the version that it has. It is for
// kinds that take this list for one value, where an apply would make it the manager's alone. The content of s does not
// matter.
//
// The error is a *ReplacedError when the object has changed, is gone or was replaced, an *InvalidError when the list is
// refused; any other error is worth another try.
func (w *Writer) PlaceConditions(ctx context.Context, s Status, conditions []any) (Result, error) {
	ref := RefOf(s.Object)
	operations := []operation{
		{Op: "replace", Path: "/metadata/uid", Value: s.Object.GetUID()},
		{Op: "replace", Path: "/metadata/resourceVersion", Value: s.Object.GetResourceVersion()},
	}
	if _, ok := s.Object.Object["status"].(map[string]any); ok {
		operations = append(operations, operation{Op: "add", Path: "/status/conditions", Value: conditions})
	} else {
		operations = append(operations, operation{Op: "add", Path: "/status", Value: map[string]any{"conditions": conditions}})
	}
	patch, err := json.Marshal(operations)
	if err != nil {
		return Result{}, fmt.Errorf("encode the conditions of %s: %w", ref, err)
	}
	answer, err := w.resource(s.GVR, ref.Namespace).Patch(ctx, ref.Name, types.JSONPatchType, patch,
		metav1.PatchOptions{FieldManager: s.Manager, FieldValidation: metav1.FieldValidationStrict}, s.subresources()...)
	if err != nil {
		return Result{}, refusal("place the conditions of", ref, err)
	}
	logr.FromContextOrDiscard(ctx).V(2).Info("placed the conditions", "parent", ref.String())
	return Result{Live: answer, Action: ActionApplied}, nil
}

// HoldsConditions tells whether the manager of s wrote the list of conditions as a whole, and nobody has since.
func HoldsConditions(s Status) bool {
	path := fieldpath.MakePathOrDie("status", "conditions")
	for _, e := range entriesOf(s.Object) {
		if e.manager != s.Manager {
			continue
		}
		if held, err := e.fields(); err == nil && held.Has(path) { // an entry that cannot be read holds nothing that is known
			return true
		}
	}
	return false
}
