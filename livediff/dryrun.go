package livediff

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/preview"
	"kanon.dev/kanon/schemas"
)

// write is what a write of a rendered object would change: nothing, or one change.
func (d *Differ) write(ctx context.Context, object preview.Object, live *unstructured.Unstructured) ([]Change, error) {
	client, ok := d.options.Resource(object.GroupVersionKind(), object.GetNamespace())
	if !ok {
		return []Change{{Action: Refused, Object: object.Unstructured, Message: "the cluster does not have the kind"}}, nil
	}
	change := Change{Action: Updated, Object: object.Unstructured, before: live}
	var err error
	if live == nil {
		change.Action = Created
		change.after, err = client.Create(ctx, object.DeepCopy(), metav1.CreateOptions{
			DryRun: []string{metav1.DryRunAll}, FieldManager: fieldset.Manager, FieldValidation: metav1.FieldValidationStrict,
		})
	} else {
		err = d.update(ctx, client, object, &change)
	}
	var mismatch *fieldset.SchemaMismatchError
	switch {
	case err != nil && (isAnswer(err) || errors.As(err, &mismatch)):
		return []Change{{Action: Refused, Object: object.Unstructured, Message: err.Error()}}, nil
	case err != nil:
		return nil, fmt.Errorf("dry run of %s: %w", identity.Of(object.Unstructured), err)
	}
	if before, after := shownEqual(change); change.Action == Updated && before == after {
		return nil, nil
	}
	return []Change{change}, nil
}

// update fills in what happens to an object that exists. One that is recreated is not sent to the API server, which would compare it
// with the one that is deleted before.
func (d *Differ) update(ctx context.Context, client dynamic.ResourceInterface, object preview.Object, change *Change) error {
	w, err := d.newWriting(ctx, object, change.before)
	if err != nil {
		return err
	}
	if object.Recreation != preview.RecreateNow {
		change.after, err = w.dryRun(ctx, client)
		if !apierrors.IsInvalid(err) || object.Recreation != preview.RecreateIfRefused {
			return err
		}
	}
	change.Action, change.Message = Recreated, object.WhyRecreated
	change.after, err = w.merged()
	return err
}

// writing is one write of an object that exists.
type writing struct {
	kind    fieldset.Kind
	live    *unstructured.Unstructured
	desired *fieldset.Desired
	// created are the fields that Kanon owns since it created the object; nil if it owns none that way.
	created *fieldpath.Set
	// samePaths is true if the object was last written with the same paths.
	samePaths bool
}

func (d *Differ) newWriting(ctx context.Context, object preview.Object, live *unstructured.Unstructured) (*writing, error) {
	gvk := object.GroupVersionKind()
	kind, err := d.kind(ctx, gvk)
	if err != nil {
		return nil, err
	}
	marked := object.DeepCopy()
	keepMarks(marked, live)
	served, _ := d.options.Kinds.Lookup(gvk)
	w := &writing{kind: kind, live: live, created: createdFields(live)}
	if w.desired, err = fieldset.NewDesired(kind, kind.Normalise(marked, served.HasStatus), object.Ignore); err != nil {
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

// kind has the schema of a kind, by which the API server merges.
func (d *Differ) kind(ctx context.Context, gvk schema.GroupVersionKind) (fieldset.Kind, error) {
	converter, err := d.options.Kinds.Converter(ctx, gvk)
	if errors.Is(err, schemas.ErrNoSchema) {
		return fieldset.NewKind(gvk, managedfields.NewDeducedTypeConverter(), true)
	}
	if err != nil {
		return fieldset.Kind{}, err
	}
	return fieldset.NewKind(gvk, converter, false)
}

// dryRun is the answer to the write that kanon run would send. Where values change and nothing else, that is a PUT. Where other
// paths are rendered, kanon run moves the fields that it owns by the creation to its apply first, and the apply removes those that
// are no longer rendered. No dry run can do that in two steps, so the result is put.
func (w *writing) dryRun(ctx context.Context, client dynamic.ResourceInterface) (*unstructured.Unstructured, error) {
	put := metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}, FieldManager: fieldset.Manager, FieldValidation: metav1.FieldValidationStrict}
	if w.created != nil && !w.samePaths {
		next, err := w.merged()
		if err != nil {
			return nil, err
		}
		return client.Update(ctx, next, put)
	}
	if patch, ok := w.desired.Replacements(w.live); ok {
		return client.Update(ctx, fieldset.Successor(w.live, patch), put)
	}
	applied := w.desired.Object.DeepCopy()
	applied.SetUID(w.live.GetUID())
	body, err := json.Marshal(applied.Object)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", identity.Of(applied), err)
	}
	force := true
	return client.Patch(ctx, applied.GetName(), types.ApplyPatchType, body, metav1.PatchOptions{
		DryRun: put.DryRun, FieldManager: fieldset.Manager, Force: &force, FieldValidation: metav1.FieldValidationStrict,
	})
}

// merged is the live object with the rendered fields, and without those that Kanon owns by the creation and no longer renders.
func (w *writing) merged() (*unstructured.Unstructured, error) {
	live, err1 := w.kind.TypedLive(w.live)
	desired, err2 := w.kind.Converter.ObjectToTyped(w.desired.Object)
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	rendered, err := desired.ToFieldSet()
	if err != nil {
		return nil, err
	}
	if w.created != nil && !w.samePaths {
		live = live.RemoveItems(removable(w.created).Difference(rendered))
	}
	merged, err := live.Merge(desired)
	if err != nil {
		return nil, err
	}
	object, err := w.kind.Converter.TypedToObject(merged)
	if err != nil {
		return nil, err
	}
	next, ok := object.(*unstructured.Unstructured)
	if !ok {
		return nil, fmt.Errorf("the merged object is a %T", object)
	}
	return next, nil
}

// removable are the paths of a set with which nothing of others goes: leaves, and items of lists.
func removable(owned *fieldpath.Set) *fieldpath.Set {
	paths := owned.Leaves()
	owned.Iterate(func(path fieldpath.Path) {
		if last := path[len(path)-1]; last.Key != nil || last.Value != nil {
			paths.Insert(path.Copy())
		}
	})
	return paths
}

// createdFields are the fields that Kanon owns since it created the object; nil if it owns none that way.
func createdFields(live *unstructured.Unstructured) *fieldpath.Set {
	for _, entry := range live.GetManagedFields() {
		if entry.Manager != fieldset.Manager || entry.Operation != metav1.ManagedFieldsOperationUpdate || entry.Subresource != "" || entry.FieldsV1 == nil {
			continue
		}
		set := &fieldpath.Set{}
		if err := set.FromJSON(entry.FieldsV1.GetRawReader()); err == nil {
			return set
		}
	}
	return nil
}

// keepMarks gives an object the marks and owner references of the live one, which belong to the same field manager: an apply
// without them would remove them.
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

// isAnswer tells whether an error is the API server's word on the object, and not a failure to ask.
func isAnswer(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsNotFound(err) || apierrors.IsBadRequest(err) ||
		apierrors.IsAlreadyExists(err) || apierrors.IsConflict(err)
}
