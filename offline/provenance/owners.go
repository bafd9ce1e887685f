package provenance

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	smdvalue "sigs.k8s.io/structured-merge-diff/v6/value"

	"kanon.dev/kanon/engine/apply/fieldset"
)

// Owner is a field manager that owns a field.
type Owner struct {
	Manager   string `json:"manager"`
	Operation string `json:"operation"`
	// Subresource is empty for a write to the object itself.
	Subresource string `json:"subresource,omitempty"`
	// Since is the time of the manager's last change to any of its fields: managedFields record one time per manager.
	// It is zero if none is recorded.
	Since time.Time `json:"since,omitzero"`
}

// managed are the managers of an object, with the fields that they own.
type managed []ownedSet

type ownedSet struct {
	Owner
	set *fieldpath.Set
}

// managedOf reads managedFields. Entries that cannot be parsed are skipped.
func managedOf(object *unstructured.Unstructured) managed {
	if object == nil {
		return nil
	}
	var all managed
	for _, e := range fieldset.EntriesOf(object) {
		set, err := e.Fields()
		if err != nil {
			continue
		}
		owner := Owner{Manager: e.Manager, Operation: e.Operation, Subresource: e.Subresource}
		if text, ok := e.Raw["time"].(string); ok {
			owner.Since, _ = time.Parse(time.RFC3339, text)
		}
		all = append(all, ownedSet{owner, set})
	}
	return all
}

// of lists the owners of a field, the most recent writer first.
func (m managed) of(object map[string]any, path Path) []Owner {
	var owners []Owner
	for _, entry := range m {
		if owns(entry.set, object, path) {
			owners = append(owners, entry.Owner)
		}
	}
	slices.SortStableFunc(owners, func(a, b Owner) int { return b.Since.Compare(a.Since) })
	return owners
}

// owns reports whether a set contains the leaf at a path, or a field above it as a whole.
func owns(set *fieldpath.Set, value any, path Path) bool {
	for i, step := range path {
		element, below, ok := elementOf(set, value, step)
		if !ok {
			return false
		}
		child, has := set.Children.Get(element)
		if set.Members.Has(element) && (i == len(path)-1 || !has) {
			return true
		}
		if !has {
			return false
		}
		set, value = child, below
	}
	return false
}

// elementOf is a step as an element of the set, and the value at that step.
func elementOf(set *fieldpath.Set, value any, step Step) (element fieldpath.PathElement, below any, ok bool) {
	if step.Index < 0 {
		fields, _ := value.(map[string]any)
		return fieldpath.PathElement{FieldName: &step.Name}, fields[step.Name], true
	}
	items, _ := value.([]any)
	if step.Index >= len(items) {
		return element, nil, false
	}
	below = items[step.Index]
	isIt := func(e fieldpath.PathElement) {
		if !ok && isItem(e, below, step.Index) {
			element, ok = e, true
		}
	}
	set.Members.Iterate(isIt)
	set.Children.Iterate(isIt)
	return element, below, ok
}

// isItem reports whether an element of a set stands for an item of a list.
func isItem(e fieldpath.PathElement, item any, index int) bool {
	switch {
	case e.Key != nil:
		fields, isMap := item.(map[string]any)
		return isMap && !slices.ContainsFunc(*e.Key, func(f smdvalue.Field) bool {
			own, has := fields[f.Name]
			return !has || !smdvalue.Equals(f.Value, smdvalue.NewValueInterface(own))
		})
	case e.Value != nil:
		return smdvalue.Equals(*e.Value, smdvalue.NewValueInterface(item))
	case e.Index != nil:
		return *e.Index == index
	}
	return false
}
