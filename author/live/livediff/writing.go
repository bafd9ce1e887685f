package livediff

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/dynamic"

	"kanon.dev/kanon/author/preview"
	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/restmapping/openapi"
)

// writing is one write of an existing object.
type writing struct {
	differ  *Differ
	client  dynamic.ResourceInterface
	kind    fieldset.Kind
	live    *unstructured.Unstructured
	desired *fieldset.Desired
	// samePaths is true if the last write of the object had the same paths.
	samePaths bool
}

func (d *Differ) newWriting(ctx context.Context, client dynamic.ResourceInterface, object preview.Object, live *unstructured.Unstructured) (*writing, error) {
	gvk := object.GroupVersionKind()
	kind, err := d.kind(ctx, gvk)
	if err != nil {
		return nil, err
	}
	marked := object.DeepCopy()
	keepMarks(marked, live)
	served, _ := d.options.Kinds.Lookup(gvk)
	policy := fieldset.Policy{Ignore: object.Ignore}.Normalised(gvk.GroupKind())
	w := &writing{differ: d, client: client, kind: kind, live: live}
	if w.desired, err = fieldset.NewDesired(kind, kind.Normalise(marked, served.HasStatus), policy.Ignore); err != nil {
		return nil, err
	}
	paths, err := w.desired.TakeShape(&d.shapes)
	if err != nil {
		return nil, err
	}
	last, ok := mark.Recorded(live)
	w.samePaths = ok && strings.HasPrefix(paths, last.Paths)
	return w, nil
}

// kind returns the schema of a kind by which the API server merges.
func (d *Differ) kind(ctx context.Context, gvk schema.GroupVersionKind) (fieldset.Kind, error) {
	converter, err := d.options.Kinds.Converter(ctx, gvk)
	if errors.Is(err, openapi.ErrNoSchema) {
		return fieldset.NewKind(gvk, managedfields.NewDeducedTypeConverter(), true)
	}
	if err != nil {
		return fieldset.Kind{}, err
	}
	return fieldset.NewKind(gvk, converter, false)
}

// update returns the answer to the write that kanon run would send. That is a PUT if only values change. Otherwise it
// is an apply, after a rewrite of managedFields where Kanon owns more or less than it applied. No dry run can do both,
// so the result of the two is sent as a PUT.
func (w *writing) update(ctx context.Context) (*unstructured.Unstructured, error) {
	if w.samePaths {
		if next, ok := w.desired.WithValues(w.live); ok {
			return w.put(ctx, next)
		}
	}
	entries, err := w.desired.EntriesToClaim(w.live, w.samePaths)
	if err != nil {
		return nil, err
	}
	content, _, err := w.desired.ContentFor(w.live)
	if err != nil {
		return nil, err
	}
	if entries == nil {
		return w.apply(ctx, content)
	}
	next, err := w.differ.applied(ctx, w.live, entries, fieldset.Manager, content)
	if err != nil {
		return nil, fmt.Errorf("merge %s: %w", w.desired.Ref, err)
	}
	return w.put(ctx, next)
}

func (w *writing) put(ctx context.Context, next *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	answer, err := w.client.Update(ctx, next, metav1.UpdateOptions{
		DryRun: []string{metav1.DryRunAll}, FieldManager: fieldset.Manager, FieldValidation: metav1.FieldValidationStrict,
	})
	return answer, asking("update", err)
}

func (w *writing) apply(ctx context.Context, content map[string]any) (*unstructured.Unstructured, error) {
	applied := (&unstructured.Unstructured{Object: content}).DeepCopy()
	applied.SetUID(w.live.GetUID())
	body, err := json.Marshal(applied.Object)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", identity.Of(applied), err)
	}
	force := true
	answer, err := w.client.Patch(ctx, applied.GetName(), types.ApplyPatchType, body, metav1.PatchOptions{
		DryRun: []string{metav1.DryRunAll}, FieldManager: fieldset.Manager, Force: &force, FieldValidation: metav1.FieldValidationStrict,
	})
	return answer, asking("patch", err)
}

// keepMarks copies the marks and the controller reference of the live object. They have the same field manager, so an
// apply without them would remove them.
func keepMarks(desired, live *unstructured.Unstructured) {
	annotations, given := desired.GetAnnotations(), desired.GetLabels()
	keep := func(into, from map[string]string) map[string]string {
		for name, value := range from {
			if isMark(name) {
				if into == nil {
					into = map[string]string{}
				}
				into[name] = value
			}
		}
		return into
	}
	desired.SetAnnotations(keep(annotations, live.GetAnnotations()))
	desired.SetLabels(keep(given, live.GetLabels()))
	if controller := metav1.GetControllerOfNoCopy(live); controller != nil {
		desired.SetOwnerReferences([]metav1.OwnerReference{*controller})
	}
	desired.SetUID(live.GetUID())
}
