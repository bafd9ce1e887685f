package fieldset

import (
	"encoding/json"
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// ManagedFieldsPatch replaces managedFields of an object at exactly its resourceVersion.
func ManagedFieldsPatch(obj *unstructured.Unstructured, entries []any) []Operation {
	return []Operation{
		{Op: "replace", Path: "/metadata/managedFields", Value: entries},
		// replace and not test: a difference is then a 409 that can be told from other refusals
		{Op: "replace", Path: "/metadata/resourceVersion", Value: obj.GetResourceVersion()},
	}
}

// EntriesToClaim are EntriesForApply where an apply needs them: where other paths are rendered than live was written with last, or
// where our Apply entry holds what is ignored now; else nil.
func (d *Desired) EntriesToClaim(live *unstructured.Unstructured, samePaths bool) ([]any, error) {
	if samePaths && !d.HoldsIgnored(live) {
		return nil, nil
	}
	return d.EntriesForApply(live)
}

// EntriesForApply returns managedFields of obj with our Update entries moved into our Apply entry, with what is ignored
// taken out of that, and with what should go taken out of ancient-changes; nil when there is nothing to move.
func (d *Desired) EntriesForApply(obj *unstructured.Unstructured) ([]any, error) {
	entries := EntriesOf(obj)
	base, applied, err := d.baseEntry(entries)
	if err != nil {
		return nil, fmt.Errorf("read managedFields of %s: %w", d.Ref, err)
	}
	if base < 0 {
		return nil, nil
	}
	paths, err := d.Paths()
	if err != nil {
		return nil, err
	}
	kept := d.withoutIgnored(applied)
	r := entriesRewrite{version: entries[base].APIVersion, removed: pathsRemoved(kept, paths), split: d.splitReference, union: kept, changed: !kept.Equals(applied)}
	for i, e := range entries {
		if i == base && e.Operation == OperationApply {
			continue // added at the end, with the union
		}
		if err := r.add(e); err != nil {
			return nil, fmt.Errorf("rewrite managedFields of %s: %w", d.Ref, err)
		}
	}
	if !r.changed {
		return nil, nil
	}
	item, err := WithFields(entries[base], d.withoutIgnored(r.union))
	if err != nil {
		return nil, fmt.Errorf("rewrite managedFields of %s: %w", d.Ref, err)
	}
	item["operation"] = OperationApply
	return append(r.items, item), nil
}

// entriesRewrite is a rewrite of managedFields in the making.
type entriesRewrite struct {
	version string
	removed removedPaths
	// tie parts the paths of our Update entries into those that stay there and those that move.
	split func(*fieldpath.Set) (tie, others *fieldpath.Set)
	// union is what our Apply entry will hold.
	union *fieldpath.Set
	// items are the other entries, rewritten where they must be.
	items   []any
	changed bool
}

// add takes one entry into account.
func (r *entriesRewrite) add(e Entry) error {
	switch {
	case e.Ours() && e.Operation == OperationUpdate:
		return r.addUpdate(e)
	case e.Ancient() && e.APIVersion == r.version:
		item, removed, err := r.removed.removeFrom(e)
		if err != nil {
			return err
		}
		r.changed = r.changed || removed
		if item != nil {
			r.items = append(r.items, item)
		}
	default:
		r.items = append(r.items, e.Item())
	}
	return nil
}

// addUpdate takes an Update entry of ours into account.
func (r *entriesRewrite) addUpdate(e Entry) error {
	set, err := e.Fields()
	if err != nil {
		return err
	}
	tie, others := r.split(set)
	if !tie.Empty() {
		item, err := WithFields(e, tie)
		if err != nil {
			return err
		}
		r.items = append(r.items, item)
	}
	r.changed = r.changed || !others.Empty()
	if e.APIVersion == r.version {
		r.union = r.union.Union(others)
	} // paths of another version cannot be added to those of this one; they end up with no owner, and stay
	return nil
}

// baseEntry is the index of the entry that becomes our Apply entry, and what it has applied: our Apply entry itself, else
// our Update entry in the rendered apiVersion, else any of ours; -1 when we have none.
func (d *Desired) baseEntry(entries []Entry) (int, *fieldpath.Set, error) {
	base := -1
	for i, e := range entries {
		switch {
		case !e.Ours():
		case e.Operation == OperationApply:
			set, err := e.Fields()
			return i, set, err
		case base < 0 || e.APIVersion == d.Object.GetAPIVersion():
			base = i
		}
	}
	return base, &fieldpath.Set{}, nil
}

// removedPaths are paths that were applied last and are rendered no more.
type removedPaths struct {
	// fields go one by one; items of lists go with all that is in them, which is what an item's end means.
	fields, items *fieldpath.Set
}

// pathsRemoved computes what the last apply had and what is rendered now lacks. A path is left out when something is still rendered below it.
func pathsRemoved(applied, rendered *fieldpath.Set) removedPaths {
	paths := removedPaths{fields: &fieldpath.Set{}, items: &fieldpath.Set{}}
	applied.Difference(rendered).Iterate(func(path fieldpath.Path) {
		last := path[len(path)-1]
		switch {
		case hasBelow(rendered, path):
		case last.Key != nil || last.Value != nil:
			paths.items.Insert(path.Copy())
		default:
			paths.fields.Insert(path.Copy())
		}
	})
	return paths
}

// removeFrom returns an entry's item without these paths (nil when nothing is left), and whether it had any.
func (g removedPaths) removeFrom(e Entry) (item map[string]any, removed bool, err error) {
	set, err := e.Fields()
	if err != nil {
		return nil, false, err
	}
	left := set.Difference(g.fields).RecursiveDifference(g.items)
	if left.Equals(set) {
		return e.Item(), false, nil
	}
	if left.Empty() {
		return nil, true, nil
	}
	item, err = WithFields(e, left)
	return item, true, err
}

// WithFields copies an entry's item with other paths.
func WithFields(e Entry, set *fieldpath.Set) (map[string]any, error) {
	text, err := set.ToJSON()
	if err != nil {
		return nil, err
	}
	item := maps.Clone(e.Raw)
	item["fieldsV1"] = json.RawMessage(text)
	return item, nil
}
