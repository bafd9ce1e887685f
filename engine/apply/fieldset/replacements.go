package fieldset

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	smdschema "sigs.k8s.io/structured-merge-diff/v6/schema"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"kanon.dev/kanon/engine/apply/mark"
)

// WithValues returns live with the values of the object where they differ, without managedFields: if a write has none,
// the API server keeps those that it has. It returns false if an apply is needed: if we own anything by another entry
// than that of a POST, if a path does not exist, or if a path has our value but is not ours.
func (d *Desired) WithValues(live *unstructured.Unstructured) (*unstructured.Unstructured, bool) {
	if d.kind.Deduced || d.OwnsIgnored(live) || !d.UpdatedOnly(live) {
		return nil, false
	}
	r := replacer{desired: d, uncovered: d.uncovered(live)}
	root := place{path: make(fieldpath.Path, 0, 16), want: d.Object.Object, have: live.Object}
	possible := r.walk(d.shape.leaves, root) &&
		(d.controller == "" || r.walk(fieldpath.NewSet(referencePath(d.controller)), root))
	if !possible || len(r.differing) == 0 {
		return nil, false
	}
	content, metadata := maps.Clone(live.Object), maps.Clone(mark.EnsureMap(live.Object, "metadata"))
	delete(metadata, "managedFields")
	content["metadata"] = metadata
	content = runtime.DeepCopyJSON(content)
	for _, leaf := range r.differing {
		SetAt(content, leaf.path, leaf.want)
	}
	return &unstructured.Unstructured{Object: content}, true
}

// UpdatedOnly reports whether one Update entry in the rendered apiVersion has everything that we own of live.
func (d *Desired) UpdatedOnly(live *unstructured.Unstructured) bool {
	own := OwnEntries(live)
	return len(own) == 1 && own[0].Operation == OperationUpdate && own[0].APIVersion == d.Object.GetAPIVersion()
}

// replacer walks the leaves of a rendered object and of the live one in parallel, and collects those that differ.
type replacer struct {
	desired   *Desired
	uncovered *fieldpath.Set
	differing []place
}

// place is a path with the values that the rendered object and the live one have there.
type place struct {
	path       fieldpath.Path
	want, have any
}

// step follows one path element; it returns false if the element does not exist in one of the objects.
func (at place) step(element fieldpath.PathElement) (next place, ok bool) {
	want, ok := childOf(at.want, element)
	if !ok {
		return place{}, false
	}
	have, ok := childOf(at.have, element)
	return place{path: append(at.path, element), want: want, have: have}, ok
}

// walk adds the differing leaves below a place; it returns false as soon as one of them cannot be replaced.
func (r *replacer) walk(leaves *fieldpath.Set, at place) bool {
	possible := true
	leaves.Members.Iterate(func(element fieldpath.PathElement) { possible = possible && r.leaf(at, element) })
	leaves.Children.Iterate(func(element fieldpath.PathElement) {
		if !possible {
			return
		}
		next, ok := at.step(element)
		below, _ := leaves.Children.Get(element)
		possible = ok && r.walk(below, next)
	})
	return possible
}

// leaf adds one leaf if its value differs. It returns false if the leaf cannot be replaced: if it
// does not exist in the live object, if it has the rendered value but is not ours, or if others may own a part of it.
func (r *replacer) leaf(at place, element fieldpath.PathElement) bool {
	if element.Value != nil { // an item of a set has no value to replace
		items, isList := at.have.([]any)
		return isList && indexOf(items, *element.Value) >= 0 && r.isCovered(append(at.path, element))
	}
	leaf, ok := at.step(element)
	if !ok {
		return false
	}
	if equalValues(leaf.want, leaf.have) {
		return r.isCovered(leaf.path)
	}
	if mayVanish(leaf.want) {
		return false
	}
	kind := r.desired.kind
	ref := kind.typeAt(leaf.path)
	if !kind.indivisible(ref, leaf.want) || !kind.indivisible(ref, leaf.have) {
		return r.desired.emptyGranular(leaf.path) && r.isCovered(leaf.path)
	}
	leaf.path = leaf.path.Copy()
	r.differing = append(r.differing, leaf)
	return true
}

func (r *replacer) isCovered(path fieldpath.Path) bool {
	return r.uncovered.Empty() || !r.uncovered.Has(path)
}

// SameValues reports whether two objects have the same values at the leaves of a set. No list may have two items with the
// same keys.
func SameValues(leaves *fieldpath.Set, a, b map[string]any) bool {
	same := true
	leaves.Iterate(func(path fieldpath.Path) {
		x, inA := LookUp(a, path)
		y, inB := LookUp(b, path)
		same = same && inA && inB && equalValues(x, y)
	})
	return same
}

// equalValues reports whether the API server treats two values as equal.
func equalValues(a, b any) bool {
	switch a := a.(type) {
	case string:
		if b, ok := b.(string); ok {
			return a == b
		}
	case int64:
		if b, ok := b.(int64); ok {
			return a == b
		}
	case map[string]any:
		if b, ok := b.(map[string]any); ok {
			return maps.EqualFunc(a, b, equalValues)
		}
	case []any:
		if b, ok := b.([]any); ok {
			return slices.EqualFunc(a, b, equalValues)
		}
	}
	return value.Equals(value.NewValueInterface(a), value.NewValueInterface(b))
}

// indivisible reports whether an apply replaces a value of a type as a whole.
func (k Kind) indivisible(ref smdschema.TypeRef, v any) bool {
	atom := k.atom(ref)
	switch v.(type) {
	case map[string]any:
		return atom.Map != nil && atom.Map.ElementRelationship == smdschema.Atomic
	case []any:
		return atom.List != nil && atom.List.ElementRelationship == smdschema.Atomic
	default:
		return v != nil
	}
}

// mayVanish reports whether Go's types may drop a value when it is stored, so that it could not be recognised as
// ours; see Writer.create.
func mayVanish(v any) bool {
	return v == false || v == "" || v == int64(0) || v == 0.0
}
