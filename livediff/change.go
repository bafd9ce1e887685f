package livediff

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/yaml"

	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/livepreview"
	"kanon.dev/kanon/preview"
	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/textdiff"
)

// Action is what would be done with an object.
type Action string

// The actions.
const (
	Created   Action = "create"
	Updated   Action = "change"
	Recreated Action = "recreate"
	Deleted   Action = "delete"
	Orphaned  Action = "orphan"
	Patched   Action = "patch"
	Status    Action = "status"
	// Refused is for what cannot be written.
	Refused Action = "refuse"
)

// Change is what would be done with one object.
type Change struct {
	Action Action
	Object *unstructured.Unstructured
	// Message says why, where that does not show.
	Message string
	// before and after are the object; nil if it does not exist.
	before, after *unstructured.Unstructured
}

// Title is the change in a few words: "change Deployment.apps shop/web".
func (c Change) Title() string {
	title := fmt.Sprintf("%s %s", c.Action, identity.Of(c.Object))
	if c.Message != "" {
		title += ": " + c.Message
	}
	return title
}

// Unified is the change as a unified diff; empty for what is not written. Values of Secrets are not shown.
func (c Change) Unified() string {
	if c.Action == Refused || c.Action == Orphaned {
		return ""
	}
	name := strings.ReplaceAll(identity.Of(c.Object).String(), " ", "/")
	before, after := shown(c.before, c.after)
	return textdiff.Unified("live/"+name, before, "rule/"+name, after)
}

// shown are both sides as YAML, without what is not for people.
func shown(before, after *unstructured.Unstructured) (old, updated []byte) {
	a, b := withoutNoise(before), withoutNoise(after)
	maskSecrets(a, b)
	return textOf(a), textOf(b)
}

func textOf(object map[string]any) []byte {
	if object == nil {
		return nil
	}
	text, err := yaml.Marshal(object)
	if err != nil {
		return []byte(err.Error() + "\n")
	}
	return text
}

// withoutNoise is an object without what changes with every write, and without Kanon's marks.
func withoutNoise(object *unstructured.Unstructured) map[string]any {
	if object == nil {
		return nil
	}
	out := object.DeepCopy()
	for _, field := range []string{"managedFields", "resourceVersion", "generation", "uid", "creationTimestamp", "selfLink"} {
		unstructured.RemoveNestedField(out.Object, "metadata", field)
	}
	annotations, given := out.GetAnnotations(), out.GetLabels()
	maps.DeleteFunc(annotations, func(name, _ string) bool { return isMark(name) })
	maps.DeleteFunc(given, func(name, _ string) bool { return isMark(name) })
	out.SetAnnotations(annotations)
	out.SetLabels(given)
	out.SetOwnerReferences(nil)
	delete(out.Object, "status")
	return out.Object
}

func isMark(name string) bool { return strings.HasPrefix(name, "kanon.dev/") }

// maskSecrets hides the values of a Secret, so that one still sees which differ.
func maskSecrets(before, after map[string]any) {
	for _, field := range []string{"data", "stringData"} {
		old, updated := fieldOf(before, field), fieldOf(after, field)
		for key, value := range updated {
			was, existed := old[key]
			updated[key] = "(hidden)"
			if existed && equality.Semantic.DeepEqual(was, value) {
				old[key] = "(hidden)"
			} else if existed {
				old[key], updated[key] = "(hidden, before)", "(hidden, after)"
			}
		}
		for key := range old {
			if text, _ := old[key].(string); !strings.HasPrefix(text, "(hidden") {
				old[key] = "(hidden)"
			}
		}
	}
}

// fieldOf is a mapping in a Secret; nil for other objects.
func fieldOf(object map[string]any, field string) map[string]any {
	if object["kind"] != "Secret" || object["apiVersion"] != "v1" {
		return nil
	}
	values, _ := object[field].(map[string]any)
	return values
}

// write is what a write of a rendered object would change: nothing, or one change.
func (d *Differ) write(ctx context.Context, object preview.Object, live *unstructured.Unstructured) ([]Change, error) {
	client, ok := d.options.Resource(object.GroupVersionKind(), object.GetNamespace())
	if !ok {
		return []Change{{Action: Refused, Object: object.Unstructured, Message: "the cluster does not have the kind"}}, nil
	}
	desired := object.DeepCopy()
	var answer *unstructured.Unstructured
	var err error
	action := Updated
	if live == nil {
		action = Created
		answer, err = client.Create(ctx, desired, metav1.CreateOptions{
			DryRun: []string{metav1.DryRunAll}, FieldManager: fieldset.Manager, FieldValidation: metav1.FieldValidationStrict,
		})
	} else {
		desired.Object = project(fieldset.FoldStringData(desired), object.Live.Object)
		answer, err = update(ctx, client, desired, live)
	}
	switch {
	case err != nil && isAnswer(err):
		return []Change{{Action: Refused, Object: desired, Message: err.Error()}}, nil
	case err != nil:
		return nil, fmt.Errorf("dry run of %s: %w", identity.Of(desired), err)
	}
	if object.Recreation == preview.RecreateNow {
		return []Change{{Action: Recreated, Object: desired, Message: object.WhyRecreated, before: live, after: answer}}, nil
	}
	change := Change{Action: action, Object: desired, before: live, after: answer}
	if before, after := shownEqual(change); live != nil && before == after {
		return nil, nil
	}
	return []Change{change}, nil
}

// update is the answer to a write of an object that exists, as a dry run. A field that was rendered before and is no longer is
// removed. An object that was created by POST has an entry of managedFields for that, which an apply would not take fields out of;
// kanon run moves them to its apply first, which no dry run can do, so such an object is put as a whole.
func update(ctx context.Context, client dynamic.ResourceInterface, desired, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	keepMarks(desired, live)
	dryRun := []string{metav1.DryRunAll}
	if created := createdFields(live); created != nil {
		next := live.DeepCopy()
		created.Leaves().Iterate(func(path fieldpath.Path) {
			if names, ok := namesOf(path); ok && !has(desired.Object, names) {
				unstructured.RemoveNestedField(next.Object, names...)
			}
		})
		preview.Overlay(next.Object, desired.Object)
		return client.Update(ctx, next, metav1.UpdateOptions{DryRun: dryRun, FieldManager: fieldset.Manager, FieldValidation: metav1.FieldValidationStrict})
	}
	body, err := json.Marshal(desired.Object)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", identity.Of(desired), err)
	}
	force := true
	return client.Patch(ctx, desired.GetName(), types.ApplyPatchType, body, metav1.PatchOptions{
		DryRun: dryRun, FieldManager: fieldset.Manager, Force: &force, FieldValidation: metav1.FieldValidationStrict,
	})
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

// namesOf are the names of a path that leads through mappings only.
func namesOf(path fieldpath.Path) (names []string, ok bool) {
	for _, element := range path {
		if element.FieldName == nil {
			return nil, false
		}
		names = append(names, *element.FieldName)
	}
	return names, true
}

// has tells whether an object has a field, or one above it as a whole.
func has(object map[string]any, names []string) bool {
	_, found, err := unstructured.NestedFieldNoCopy(object, names...)
	return found || err != nil
}

// project has the fields of one object with the values of another: fields that the rule leaves to others keep theirs.
func project(shape, values map[string]any) map[string]any {
	out := make(map[string]any, len(shape))
	for name, field := range shape {
		value, exists := values[name]
		below, isMap := field.(map[string]any)
		from, both := value.(map[string]any)
		switch {
		case isMap && both:
			out[name] = project(below, from)
		case exists:
			out[name] = runtime.DeepCopyJSONValue(value)
		}
	}
	return out
}

func shownEqual(c Change) (before, after string) {
	return string(textOf(withoutNoise(c.before))), string(textOf(withoutNoise(c.after)))
}

// isAnswer tells whether an error is the API server's word on the object, and not a failure to ask.
func isAnswer(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsNotFound(err) || apierrors.IsBadRequest(err) ||
		apierrors.IsAlreadyExists(err) || apierrors.IsConflict(err)
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

// statusChange is what would change in the parent's status, but for Kanon's own conditions.
func statusChange(parent *unstructured.Unstructured, out program.Outcome) []Change {
	if out.StatusHeld || len(out.Status) == 0 {
		return nil
	}
	before, _ := parent.Object["status"].(map[string]any)
	after := runtime.DeepCopyJSON(map[string]any{"status": before})
	preview.Overlay(after, map[string]any{"status": runtime.DeepCopyJSON(out.Status)})
	if equality.Semantic.DeepEqual(map[string]any{"status": before}, after) || before == nil && len(out.Status) == 0 {
		return nil
	}
	return []Change{{Action: Status, Object: parent, before: bare(parent, before), after: bare(parent, after["status"])}}
}

// bare is an object that has nothing but a name and one field. The field is called status in the diff.
func bare(of *unstructured.Unstructured, status any) *unstructured.Unstructured {
	out := &unstructured.Unstructured{Object: map[string]any{"apiVersion": of.GetAPIVersion(), "kind": of.GetKind()}}
	out.SetName(of.GetName())
	out.SetNamespace(of.GetNamespace())
	out.Object["status of "+strings.ToLower(of.GetKind())] = status
	return out
}

// patches are what patches of this parent would set.
func (d *Differ) patches(ctx context.Context, p *livepreview.Preview) ([]Change, error) {
	var all []Change
	for _, patch := range p.Outcome.Patches {
		for _, c := range patch.Contributions {
			if c.Object == nil {
				continue
			}
			targets, err := p.Targets(ctx, c)
			if err != nil {
				return nil, err
			}
			for _, live := range targets {
				after := live.DeepCopy()
				preview.Overlay(after.Object, c.Object.Object)
				if !equality.Semantic.DeepEqual(live.Object, after.Object) {
					all = append(all, Change{Action: Patched, Object: live, Message: "patch " + patch.ID, before: live, after: after})
				}
			}
		}
	}
	return all, nil
}
