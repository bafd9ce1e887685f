package fieldset

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"kanon.dev/kanon/engine/identity"
)

// Lost returns the rendered paths that our entries in live lack, each with the manager that owns it now: those that
// somebody took from us, and those that are rendered for the first time. It sends no request.
func (d *Desired) Lost(live *unstructured.Unstructured) []Contested {
	return contestedBy(live, d.uncovered(live), Entry.Ours, d.shape.others.fieldsOf)
}

// ContestedBy returns, for each path, the other manager of obj that wrote it last, if any owns it.
func ContestedBy(obj *unstructured.Unstructured, paths *fieldpath.Set, own func(Entry) bool) []Contested {
	return contestedBy(obj, paths, own, Entry.Fields)
}

// contestedBy is ContestedBy with a function that decodes entries.
func contestedBy(
	obj *unstructured.Unstructured, paths *fieldpath.Set, own func(Entry) bool, fieldsOf func(Entry) (*fieldpath.Set, error),
) []Contested {
	if paths.Empty() {
		return nil
	}
	type holding struct {
		manager, time string
		fields        *fieldpath.Set
	}
	var others []holding
	for _, e := range EntriesOf(obj) {
		if own(e) || e.Manager == AncientManager {
			continue
		}
		if fields, err := fieldsOf(e); err == nil { // nothing is known about an entry that cannot be decoded
			at, _ := e.Raw["time"].(string)
			others = append(others, holding{manager: e.Manager, time: at, fields: fields})
		}
	}
	var found []Contested
	paths.Iterate(func(path fieldpath.Path) {
		lost, newest := Contested{Path: readablePath(path)}, ""
		for _, other := range others {
			if (other.fields.Has(path) || hasBelow(other.fields, path)) && other.time >= newest {
				lost.Manager, newest = strings.Clone(other.manager), other.time // a copy: lost is kept, and the object may be large
			}
		}
		found = append(found, lost)
	})
	return found
}

// readablePath returns a path of managedFields in the form of a rule's ignore. Items that have no keys are named by
// their list.
func readablePath(path fieldpath.Path) string {
	var steps Path
	for _, element := range path {
		switch {
		case element.FieldName != nil:
			steps = append(steps, Step{Field: *element.FieldName})
		case element.Key != nil:
			keys := make(map[string]string, len(*element.Key))
			for _, key := range *element.Key {
				keys[key.Name] = textOf(key.Value.Unstructured())
			}
			steps = append(steps, Step{Keys: keys})
		default:
			return textOfPath(steps)
		}
	}
	return textOfPath(steps)
}

// IsMark reports whether a path, as in Lost, belongs to the marks of a child, which no rule can leave to others.
func IsMark(path string) bool {
	return strings.Contains(path, "kanon.dev/") || strings.HasPrefix(path, "metadata.ownerReferences")
}

// Contested is a path that two managers set.
type Contested = identity.Field
