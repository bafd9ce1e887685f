package apply

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Joined lists. To the API server the imagePullSecrets of a ServiceAccount are one value, though each item has a name and
// stands for itself: an apply with one item would take away those of others. What a patch sets there is therefore put into
// the list, and taken out of it, item by item, in exactly the version of the object that was seen. Whose an item is
// stands in an annotation; one that was there before is nobody's of ours, and stays.

// AnnotationJoined says which items of a joined list were put there, and by which patches.
const AnnotationJoined = "kanon.dev/joined"

// joinedField is the field of a kind whose items are joined by their names; empty where it has none.
func joinedField(gk schema.GroupKind) string {
	if gk == (schema.GroupKind{Kind: "ServiceAccount"}) {
		return "imagePullSecrets"
	}
	return ""
}

// joined is the content of AnnotationJoined.
type joined struct {
	// Owner had the list before.
	Owner string `json:"owner,omitempty"`
	// Items has, by the name of each item that was put there, the managers of the patches that want it.
	Items map[string][]string `json:"items"`
}

func joinedIn(obj *unstructured.Unstructured) (joined, bool) {
	var j joined
	text, ok := metaString(obj, "annotations", AnnotationJoined)
	if !ok || json.Unmarshal([]byte(text), &j) != nil {
		return joined{}, ok
	}
	return j, true
}

// by lists the items that a manager put into the list, or wants as much as the one that did.
func (j joined) by(manager string) []string {
	var names []string
	for name, managers := range j.Items {
		if slices.Contains(managers, manager) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// splitJoined takes the items of a joined list out of what a patch sets, and returns their names.
func splitJoined(object *unstructured.Unstructured) (*unstructured.Unstructured, []string) {
	field := joinedField(object.GroupVersionKind().GroupKind())
	items, ok := object.Object[field].([]any)
	if field == "" || !ok {
		return object, nil
	}
	var names []string
	for _, item := range items {
		if name := nameOfItem(item); name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	content := maps.Clone(object.Object)
	delete(content, field)
	slices.Sort(names)
	return &unstructured.Unstructured{Object: content}, names
}

func nameOfItem(item any) string {
	fields, _ := item.(map[string]any)
	name, _ := fields["name"].(string)
	return name
}

// itemsOf are the names of what is in the joined list of an object.
func itemsOf(obj *unstructured.Unstructured) []string {
	list, _ := obj.Object[joinedField(obj.GroupVersionKind().GroupKind())].([]any)
	names := make([]string, len(list))
	for i, item := range list {
		names[i] = nameOfItem(item)
	}
	return names
}

// joinPlan is what is to be done about the joined list of an object for one manager.
type joinPlan struct {
	record joined
	// add and remove are the names of items.
	add, remove []string
	changed     bool
}

func planJoin(obj *unstructured.Unstructured, manager string, wanted []string) joinPlan {
	there := itemsOf(obj)
	record, _ := joinedIn(obj)
	plan := joinPlan{record: joined{Owner: record.Owner, Items: maps.Clone(record.Items)}}
	if plan.record.Items == nil {
		plan.record.Items = map[string][]string{}
	}
	for _, name := range wanted {
		managers, ours := plan.record.Items[name]
		present := slices.Contains(there, name)
		if !present {
			plan.add = append(plan.add, name)
		}
		if (!present || ours) && !slices.Contains(managers, manager) {
			plan.record.Items[name] = slices.Sorted(slices.Values(append(slices.Clone(managers), manager)))
			plan.changed = true
		}
	}
	for _, name := range record.by(manager) {
		if slices.Contains(wanted, name) {
			continue
		}
		plan.changed = true
		left := slices.DeleteFunc(slices.Clone(plan.record.Items[name]), func(m string) bool { return m == manager })
		if len(left) > 0 {
			plan.record.Items[name] = left
			continue
		}
		delete(plan.record.Items, name)
		if slices.Contains(there, name) {
			plan.remove = append(plan.remove, name)
		}
	}
	plan.changed = plan.changed || len(plan.add) > 0
	return plan
}

// join brings the joined list of the object up to date, and returns the object as it is then.
func (w *Writer) join(ctx context.Context, p Patch) (*unstructured.Unstructured, error) {
	plan := planJoin(p.Object, p.Manager, p.joined())
	if !plan.changed {
		return p.Object, nil
	}
	ref := RefOf(p.Object)
	field := joinedField(p.Object.GroupVersionKind().GroupKind())
	owner := ""
	for _, name := range ownersOf(p.Object, fieldpath.MakePathOrDie(field)) {
		if name != takenManager {
			owner = name
		}
	}
	writer := takenManager
	if len(plan.record.Items) > 0 {
		if _, there := joinedIn(p.Object); !there {
			plan.record.Owner = owner
		}
	} else if writer = owner; writer == "" { // the list is theirs again
		if writer = plan.record.Owner; writer == "" {
			writer = takenManager
		}
	}
	operations, err := plan.operations(p.Object, field)
	if err != nil {
		return nil, fmt.Errorf("encode what is joined in %s: %w", ref, err)
	}
	body, err := json.Marshal(operations)
	if err != nil {
		return nil, fmt.Errorf("encode what is joined in %s: %w", ref, err)
	}
	answer, err := w.resource(p.GVR, ref.Namespace).Patch(ctx, ref.Name, types.JSONPatchType, body,
		metav1.PatchOptions{FieldManager: writer, FieldValidation: metav1.FieldValidationStrict})
	if err != nil {
		return nil, refusal("join "+field+" of", ref, err)
	}
	logr.FromContextOrDiscard(ctx).V(2).Info("joined a list", "target", ref.String(), "manager", p.Manager)
	return answer, nil
}

// operations are the JSON patch that carries out the plan.
func (plan joinPlan) operations(obj *unstructured.Unstructured, field string) ([]operation, error) {
	operations := []operation{{Op: "replace", Path: "/metadata/resourceVersion", Value: obj.GetResourceVersion()}}
	before, there := obj.Object[field].([]any)
	items := slices.DeleteFunc(slices.Clone(before), func(item any) bool { return slices.Contains(plan.remove, nameOfItem(item)) })
	for _, name := range plan.add {
		items = append(items, map[string]any{"name": name})
	}
	switch {
	case len(items) > 0:
		operations = append(operations, operation{Op: "add", Path: "/" + field, Value: items})
	case there:
		operations = append(operations, operation{Op: "remove", Path: "/" + field})
	}
	annotation := "/metadata/annotations/" + escapePointer(AnnotationJoined)
	_, marked := joinedIn(obj)
	switch {
	case len(plan.record.Items) > 0:
		text, err := marshalText(plan.record)
		if err != nil {
			return nil, err
		}
		if obj.GetAnnotations() == nil {
			operations = append(operations, operation{Op: "add", Path: "/metadata/annotations", Value: map[string]any{}})
		}
		operations = append(operations, operation{Op: "add", Path: annotation, Value: text})
	case marked:
		operations = append(operations, operation{Op: "remove", Path: annotation})
	}
	return operations, nil
}

// joined are the names of the items that the patch wants in the joined list.
func (p Patch) joined() []string {
	if p.Content == nil {
		return nil
	}
	return p.Content.joined
}
