package fieldset

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	smdschema "sigs.k8s.io/structured-merge-diff/v6/schema"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"kanon.dev/kanon/engine/identity"
)

// The cover check decides without a request whether the live object still has what we wrote. The API server removes a
// path from our entries as soon as anybody else changes it, so a path that is still in them has our value. The rules:
//
//   - Only leaves count: the paths below which nothing else was rendered. Everything above a leaf follows from it.
//   - Only entries of our manager, not for a subresource, in the rendered apiVersion count. Apply and Update count alike.
//   - A leaf is covered if an entry has it as a member and goes no deeper. An entry that goes deeper was recorded under another
//     schema, in which the leaf was none; what it says about the leaf as a whole is unknown.
//   - An entry that ends above the leaf, or has only its parents, covers nothing: a rendered scalar under a granular map is not
//     covered by the map.
//   - The one exception: an empty granular map or struct is covered by anything of ours at its path or below, because then the
//     value exists, and empty is all that was rendered.
//   - Identity (apiVersion, kind, name, namespace, uid, ...) is never in managedFields and is not required. Labels,
//     annotations, AnnotationApplied among them, and ownerReferences are.

// Covered reports whether our entries in live have every rendered path.
func (d *Desired) Covered(live *unstructured.Unstructured) bool { return d.uncovered(live).Empty() }

// uncovered returns the leaves that our entries in live do not cover; read-only.
func (d *Desired) uncovered(live *unstructured.Unstructured) *fieldpath.Set {
	entries := slices.DeleteFunc(EntriesOf(live), func(e Entry) bool { return !d.counts(e) })
	hash, hashed := d.shape.hashEntries(entries, d.controller)
	if uncovered, known := d.shape.uncovered.get(hash); hashed && known {
		return uncovered
	}
	owned, uncovered := Owned(live, d.counts), &fieldpath.Set{}
	d.eachLeaf(func(path fieldpath.Path) {
		if !d.leafCovered(path, owned) {
			uncovered.Insert(path.Copy())
		}
	})
	if hashed && (d.controller == "" || !uncovered.Has(referencePath(d.controller))) {
		d.shape.uncovered.put(hash, uncovered, maxVerdicts)
	}
	return uncovered
}

// counts reports whether an entry is ours and in the rendered apiVersion.
func (d *Desired) counts(e Entry) bool { return e.Ours() && e.APIVersion == d.Object.GetAPIVersion() }

// Owned returns the paths in those entries of an object for which counts is true. Entries that cannot be decoded are
// skipped.
func Owned(obj *unstructured.Unstructured, counts func(Entry) bool) *fieldpath.Set {
	held := &fieldpath.Set{}
	for _, e := range EntriesOf(obj) {
		if !counts(e) {
			continue
		}
		if set, err := e.Fields(); err == nil {
			held = held.Union(set)
		}
	}
	return held
}

func (d *Desired) leafCovered(path fieldpath.Path, owned *fieldpath.Set) bool {
	member, below := owned.Has(path), hasBelow(owned, path)
	if member && !below {
		return true
	}
	return (member || below) && d.emptyGranular(path)
}

// hasBelow reports whether a set has members under path.
func hasBelow(set *fieldpath.Set, path fieldpath.Path) bool {
	for _, element := range path {
		next, ok := set.Children.Get(element)
		if !ok {
			return false
		}
		set = next
	}
	return !set.Empty()
}

// emptyGranular reports whether an empty map was rendered at path that is granular in the schema.
func (d *Desired) emptyGranular(path fieldpath.Path) bool {
	at, _ := LookUp(d.Object.Object, path)
	m, ok := at.(map[string]any)
	if !ok || len(m) > 0 {
		return false
	}
	granular := d.kind.atom(d.kind.typeAt(path)).Map
	return granular != nil && granular.ElementRelationship != smdschema.Atomic
}

// typeAt returns the type at a path; the zero TypeRef if the schema has no such path.
func (k Kind) typeAt(path fieldpath.Path) smdschema.TypeRef {
	ref := k.root
	for _, element := range path {
		switch atom := k.atom(ref); {
		case element.FieldName != nil:
			ref = fieldType(atom.Map, *element.FieldName)
		case atom.List != nil:
			ref = atom.List.ElementType
		default:
			return smdschema.TypeRef{}
		}
	}
	return ref
}

// indexOfKeys returns the index of the list-map item with these keys, or -1.
func indexOfKeys(items []any, keys value.FieldList) int {
	return slices.IndexFunc(items, func(item any) bool { return hasKeys(item, keys) })
}

// hasKeys reports whether a list-map item has these keys. Rendered items have all of them: see completeKeys.
func hasKeys(item any, keys value.FieldList) bool {
	m, ok := item.(map[string]any)
	if !ok {
		return false
	}
	for _, key := range keys {
		v, ok := m[key.Name]
		if !ok || !equalValues(v, key.Value.Unstructured()) {
			return false
		}
	}
	return true
}

// Lost returns the rendered paths that our entries in live lack, each with the manager that owns it now: those that
// somebody took from us, and those that are rendered for the first time. It sends no request.
func (d *Desired) Lost(live *unstructured.Unstructured) []Contested {
	return ContestedBy(live, d.uncovered(live), Entry.Ours)
}

// ContestedBy returns, for each path, the other manager of obj that wrote it last, if any owns it.
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
		if fields, err := e.Fields(); err == nil { // nothing is known about an entry that cannot be decoded
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
