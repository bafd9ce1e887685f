package fieldset

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Lost names the rendered paths that our entries in live do not hold, each with the manager that holds it now: those that
// somebody took from us, and those that are rendered for the first time. It sends no request.
func (d *Desired) Lost(live *unstructured.Unstructured) []Contested {
	return ContestedBy(live, d.uncovered(live), Entry.Ours)
}

// ContestedBy names, for each path, the other manager of obj that wrote it last, and none where nobody holds it.
func ContestedBy(obj *unstructured.Unstructured, paths *fieldpath.Set, own func(Entry) bool) []Contested {
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
		if fields, err := e.Fields(); err == nil { // an entry that cannot be read holds nothing that is known
			at, _ := e.Raw["time"].(string)
			others = append(others, holding{manager: e.Manager, time: at, fields: fields})
		}
	}
	var found []Contested
	paths.Iterate(func(path fieldpath.Path) {
		lost, newest := Contested{Path: readablePath(path)}, ""
		for _, other := range others {
			if (other.fields.Has(path) || hasBelow(other.fields, path)) && other.time >= newest {
				lost.Manager, newest = strings.Clone(other.manager), other.time // of an object that may be large, and lost is kept
			}
		}
		found = append(found, lost)
	})
	return found
}

// readablePath writes a path of managedFields as a rule's ignore has it. Items that the API server does not tell apart by
// keys are named by the list that holds them.
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
			return steps.String()
		}
	}
	return steps.String()
}

// IsMark reports whether a path, as in Lost, is of what makes an object a child, which no rule can leave to others.
func IsMark(path string) bool {
	return strings.Contains(path, "kanon.dev/") || strings.HasPrefix(path, "metadata.ownerReferences")
}

// Contested is one path that two managers want.
type Contested struct {
	// Path is written as in managedFields, such as .status.url; of a child, as in a rule's ignore.
	Path string
	// Manager holds it; empty where nobody does, as of a field that somebody removed.
	Manager string
}
