package patching

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"kanon.dev/kanon/engine/apply"
	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/apply/mark"
)

// The API server treats the imagePullSecrets of a ServiceAccount as one value, although each item has a name and
// stands for itself: an apply with one item would remove the items of others. So what a patch sets there is added to
// the list and removed from it item by item, in exactly the version of the object that was seen. An annotation
// records whose an item is. An item that existed before belongs to no patch, and stays.

// AnnotationJoined records which items of a shared list were added, and by which patches.
const AnnotationJoined = "kanon.dev/joined"

// SharedField returns the field of a kind whose items are shared by name; empty if the kind has none.
func SharedField(gk schema.GroupKind) string {
	if gk == (schema.GroupKind{Kind: "ServiceAccount"}) {
		return "imagePullSecrets"
	}
	return ""
}

// SharedList is the content of AnnotationJoined.
type SharedList struct {
	// Owner is the field manager that had the list before.
	Owner string `json:"owner,omitempty"`
	// Items has, by the name of each added item, the managers of the patches that want it.
	Items map[string][]string `json:"items"`
}

// SharedListOf decodes AnnotationJoined; false if the object has none.
func SharedListOf(obj *unstructured.Unstructured) (SharedList, bool) {
	var j SharedList
	text, ok := mark.MetadataString(obj, "annotations", AnnotationJoined)
	if !ok || json.Unmarshal([]byte(text), &j) != nil {
		return SharedList{}, ok
	}
	return j, true
}

// by returns the names of the added items that a manager wants.
func (j SharedList) by(manager string) []string {
	var names []string
	for name, managers := range j.Items {
		if slices.Contains(managers, manager) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// splitShared removes the items of a shared list from what a patch sets, and returns their names.
func splitShared(object *unstructured.Unstructured) (*unstructured.Unstructured, []string) {
	field := SharedField(object.GroupVersionKind().GroupKind())
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

// itemsOf returns the names of the items in the shared list of an object.
func itemsOf(obj *unstructured.Unstructured) []string {
	list, _ := obj.Object[SharedField(obj.GroupVersionKind().GroupKind())].([]any)
	names := make([]string, len(list))
	for i, item := range list {
		names[i] = nameOfItem(item)
	}
	return names
}

// SharedListPlan describes what to change in the shared list of an object for one manager.
type SharedListPlan struct {
	Record SharedList
	// add and remove are the names of items.
	add, remove []string
	Changed     bool
}

// PlanSharedList plans the changes of an object's shared list for a manager that wants these items.
func PlanSharedList(obj *unstructured.Unstructured, manager string, wanted []string) SharedListPlan {
	there := itemsOf(obj)
	record, _ := SharedListOf(obj)
	plan := SharedListPlan{Record: SharedList{Owner: record.Owner, Items: maps.Clone(record.Items)}}
	if plan.Record.Items == nil {
		plan.Record.Items = map[string][]string{}
	}
	for _, name := range wanted {
		managers, ours := plan.Record.Items[name]
		present := slices.Contains(there, name)
		if !present {
			plan.add = append(plan.add, name)
		}
		if (!present || ours) && !slices.Contains(managers, manager) {
			plan.Record.Items[name] = slices.Sorted(slices.Values(append(slices.Clone(managers), manager)))
			plan.Changed = true
		}
	}
	for _, name := range record.by(manager) {
		if slices.Contains(wanted, name) {
			continue
		}
		plan.Changed = true
		left := slices.DeleteFunc(slices.Clone(plan.Record.Items[name]), func(m string) bool { return m == manager })
		if len(left) > 0 {
			plan.Record.Items[name] = left
			continue
		}
		delete(plan.Record.Items, name)
		if slices.Contains(there, name) {
			plan.remove = append(plan.remove, name)
		}
	}
	plan.Changed = plan.Changed || len(plan.add) > 0
	return plan
}

// Removes reports whether the plan removes an item from the list.
func (plan SharedListPlan) Removes() bool { return len(plan.remove) > 0 }

// Items returns the list after the plan.
func (plan SharedListPlan) Items(obj *unstructured.Unstructured, field string) []any {
	before, _ := obj.Object[field].([]any)
	items := slices.DeleteFunc(slices.Clone(before), func(item any) bool { return slices.Contains(plan.remove, nameOfItem(item)) })
	for _, name := range plan.add {
		items = append(items, map[string]any{"name": name})
	}
	return items
}

// Operations returns the JSON patch for the plan.
func (plan SharedListPlan) Operations(obj *unstructured.Unstructured, field string) ([]fieldset.Operation, error) {
	operations := []fieldset.Operation{{Op: "replace", Path: "/metadata/resourceVersion", Value: obj.GetResourceVersion()}}
	_, there := obj.Object[field].([]any)
	items := plan.Items(obj, field)
	switch {
	case len(items) > 0:
		operations = append(operations, fieldset.Operation{Op: "add", Path: "/" + field, Value: items})
	case there:
		operations = append(operations, fieldset.Operation{Op: "remove", Path: "/" + field})
	}
	annotation := "/metadata/annotations/" + fieldset.EscapePointer(AnnotationJoined)
	_, marked := SharedListOf(obj)
	switch {
	case len(plan.Record.Items) > 0:
		text, err := fieldset.MarshalText(plan.Record)
		if err != nil {
			return nil, err
		}
		if obj.GetAnnotations() == nil {
			operations = append(operations, fieldset.Operation{Op: "add", Path: "/metadata/annotations", Value: map[string]any{}})
		}
		operations = append(operations, fieldset.Operation{Op: "add", Path: annotation, Value: text})
	case marked:
		operations = append(operations, fieldset.Operation{Op: "remove", Path: annotation})
	}
	return operations, nil
}

// syncSharedList brings the shared list of the object up to date, and returns the resulting object.
func (w *Writer) syncSharedList(ctx context.Context, p Patch) (*unstructured.Unstructured, error) {
	plan := PlanSharedList(p.Object, p.Manager, p.sharedItems())
	if !plan.Changed {
		return p.Object, nil
	}
	ref := mark.RefOf(p.Object)
	field := SharedField(p.Object.GroupVersionKind().GroupKind())
	owner := ""
	for _, name := range OwnersOf(p.Object, fieldpath.MakePathOrDie(field)) {
		if name != RestoreManager {
			owner = name
		}
	}
	writer := RestoreManager
	if len(plan.Record.Items) > 0 {
		if _, there := SharedListOf(p.Object); !there {
			plan.Record.Owner = owner
		}
	} else { // no item is ours any more: the list belongs to its former owner
		writer = cmp.Or(owner, plan.Record.Owner, RestoreManager)
	}
	operations, err := plan.Operations(p.Object, field)
	if err != nil {
		return nil, fmt.Errorf("encode what is joined in %s: %w", ref, err)
	}
	answer, err := w.server.PatchSteps(ctx, p.GVR, ref, apply.Strict(writer, false), operations)
	if err != nil {
		return nil, apply.OfTarget("join "+field+" of", ref, err)
	}
	logr.FromContextOrDiscard(ctx).V(2).Info("joined a list", "target", ref.String(), "manager", p.Manager)
	return answer, nil
}

// sharedItems returns the names of the items that the patch wants in the shared list.
func (p Patch) sharedItems() []string {
	if p.Content == nil {
		return nil
	}
	return p.Content.Shared
}
