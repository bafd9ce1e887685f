package livediff

import (
	"context"
	"fmt"
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/livepreview"
	"kanon.dev/kanon/overlay"
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

func shownEqual(c Change) (before, after string) {
	return string(textOf(withoutNoise(c.before))), string(textOf(withoutNoise(c.after)))
}

// statusChange is what would change in the parent's status, but for Kanon's own conditions.
func (d *Differ) statusChange(parent *unstructured.Unstructured, out program.Outcome) []Change {
	if out.StatusHeld || len(out.Status) == 0 {
		return nil
	}
	before, _ := parent.Object["status"].(map[string]any)
	after := runtime.DeepCopyJSON(map[string]any{"status": before})
	overlay.Apply(d.options.Kinds.Schema(parent.GroupVersionKind()), after, nil, map[string]any{"status": out.Status})
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
				after := p.Patched(live, c)
				if !equality.Semantic.DeepEqual(live.Object, after.Object) {
					all = append(all, Change{Action: Patched, Object: live, Message: "patch " + patch.ID, before: live, after: after})
				}
			}
		}
	}
	return all, nil
}
