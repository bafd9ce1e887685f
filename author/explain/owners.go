package explain

import (
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

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

// managed are the owners of fields of an object, by the keys of their paths.
type managed map[string][]Owner

// managedOf reads managedFields. Entries that cannot be parsed are skipped.
func managedOf(object *unstructured.Unstructured) managed {
	all := managed{}
	for _, e := range fieldset.EntriesOf(object) {
		set, err := e.Fields()
		if err != nil {
			continue
		}
		owner := Owner{Manager: e.Manager, Operation: e.Operation, Subresource: e.Subresource}
		if text, ok := e.Raw["time"].(string); ok {
			owner.Since, _ = time.Parse(time.RFC3339, text)
		}
		set.Leaves().Iterate(func(path fieldpath.Path) {
			if at, ok := resolve(object.Object, path); ok {
				all[keyOf(at)] = append(all[keyOf(at)], owner)
			}
		})
	}
	return all
}

// of lists the owners of the leaf at a path, and of fields above it as a whole, the most recent writer first.
func (m managed) of(path Path) []Owner {
	var owners []Owner
	for n := range path {
		owners = append(owners, m[keyOf(path[:n+1])]...)
	}
	slices.SortStableFunc(owners, func(a, b Owner) int { return b.Since.Compare(a.Since) })
	return owners
}

// resolve is the path of an owned field in the object; false if the object does not have it.
func resolve(value any, path fieldpath.Path) (at Path, ok bool) {
	for _, element := range path {
		next, token, ok := fieldset.StepInto(value, element)
		if !ok {
			return nil, false
		}
		step := Step{}
		if element.FieldName != nil {
			step = named(*element.FieldName)
		} else {
			step.Index, _ = strconv.Atoi(token)
		}
		value, at = next, append(at, step)
	}
	return at, len(at) > 0
}
