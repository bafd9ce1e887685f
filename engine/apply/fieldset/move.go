package fieldset

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// ManagedFieldsPatch returns a patch that replaces managedFields of an object at exactly its resourceVersion.
func ManagedFieldsPatch(obj *unstructured.Unstructured, entries []any) []Operation {
	return []Operation{
		{Op: "replace", Path: "/metadata/managedFields", Value: entries},
		// "replace" and not "test", so that a difference results in a 409, which other refusals do not use.
		{Op: "replace", Path: "/metadata/resourceVersion", Value: obj.GetResourceVersion()},
	}
}

// EntriesToClaim returns EntriesForApply if an apply needs them: if the rendered paths differ from those of live's
// last write, or if our Apply entry has ignored paths. Else it returns nil.
func (d *Desired) EntriesToClaim(live *unstructured.Unstructured, samePaths bool) ([]any, error) {
	if samePaths && !d.OwnsIgnored(live) {
		return nil, nil
	}
	return d.EntriesForApply(live)
}

// EntriesForApply returns managedFields of obj with our Update entries moved into our Apply entry, ignored paths
// removed from that, and paths to be dropped removed from ancient-changes; nil if nothing changes.
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

// EntriesForAdoption returns managedFields of obj in which no other manager has the rendered fields, and the managers that
// had any; nil if none had. An item of a list that is rendered is taken with everything in it, except for what is ignored:
// whatever another manager kept of it would keep the item once it is no longer rendered.
func (d *Desired) EntriesForAdoption(obj *unstructured.Unstructured) (items []any, managers []string, err error) {
	paths, err := d.Paths()
	if err != nil {
		return nil, nil, err
	}
	paths = d.withoutIgnored(paths)
	rendered := pathsRemoved(paths, &fieldpath.Set{})
	for _, e := range EntriesOf(obj) {
		if e.Ours() || e.Subresource != "" || e.APIVersion != d.Object.GetAPIVersion() {
			items = append(items, e.Item())
			continue
		}
		set, err := e.Fields()
		if err != nil {
			return nil, nil, fmt.Errorf("read managedFields of %s: %w", d.Ref, err)
		}
		ignored := set.Difference(d.withoutIgnored(set))
		left := set.Difference(rendered.fields).RecursiveDifference(rendered.items).Union(ignored)
		switch {
		case left.Equals(set):
			items = append(items, e.Item())
			continue
		case !left.Empty():
			item, err := WithFields(e, left)
			if err != nil {
				return nil, nil, fmt.Errorf("rewrite managedFields of %s: %w", d.Ref, err)
			}
			items = append(items, item)
		}
		managers = append(managers, e.Manager)
	}
	if len(managers) == 0 {
		return nil, nil, nil
	}
	if len(items) == 0 {
		// An empty list would have the API server begin managedFields again, with an owner for all fields.
		items = []any{map[string]any{}}
	}
	return items, slices.Compact(slices.Sorted(slices.Values(managers))), nil
}

// entriesRewrite builds new managedFields.
type entriesRewrite struct {
	version string
	removed removedPaths
	// split splits the paths of our Update entries into those that stay there and those that move.
	split func(*fieldpath.Set) (tie, others *fieldpath.Set)
	// union is the content of our new Apply entry.
	union *fieldpath.Set
	// items are the other entries, rewritten if necessary.
	items   []any
	changed bool
}

// add adds one entry.
func (r *entriesRewrite) add(e Entry) error {
	switch {
	case e.Ours() && e.Operation == OperationUpdate:
		return r.addUpdate(e)
	case e.IsAncient() && e.APIVersion == r.version:
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

// addUpdate adds an Update entry of ours.
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

// baseEntry returns the index of the entry that becomes our Apply entry, and the paths that it has applied: our Apply
// entry itself, else our Update entry in the rendered apiVersion, else any of ours; -1 if we have none.
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

// removedPaths are paths that were applied last and are no longer rendered.
type removedPaths struct {
	// fields are removed one by one; items of lists are removed with everything in them.
	fields, items *fieldpath.Set
}

// pathsRemoved returns the paths of the last apply that are no longer rendered. It skips paths below which something
// is still rendered.
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

// removeFrom returns an entry's item without these paths (nil if nothing is left), and whether it had any of them.
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

// WithFields returns a copy of an entry's item with other paths.
func WithFields(e Entry, set *fieldpath.Set) (map[string]any, error) {
	text, err := set.ToJSON()
	if err != nil {
		return nil, err
	}
	item := maps.Clone(e.Raw)
	item["fieldsV1"] = json.RawMessage(text)
	return item, nil
}
