package fieldset

import (
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	smdschema "sigs.k8s.io/structured-merge-diff/v6/schema"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"kanon.dev/kanon/engine/apply/mark"
)

// Successor is live after a patch that was made from it, without managedFields: where there are none, the API server goes on
// from those that it has.
func Successor(live *unstructured.Unstructured, patch []Operation) *unstructured.Unstructured {
	object := maps.Clone(Replaced(live.Object, patch))
	metadata := maps.Clone(mark.EnsureMap(object, "metadata"))
	delete(metadata, "managedFields")
	object["metadata"] = metadata
	return &unstructured.Unstructured{Object: object}
}

// Replacements is the patch that gives live the values of the object where they differ; false where it takes an apply: where we own by another entry than that of a
// POST, and where a path does not exist or is not ours though it has our value.
func (d *Desired) Replacements(live *unstructured.Unstructured) ([]Operation, bool) {
	if d.kind.Deduced || d.HoldsIgnored(live) || !d.UpdatedOnly(live) {
		return nil, false
	}
	patch := []Operation{{Op: "test", Path: "/metadata/uid", Value: string(live.GetUID())}}
	uncovered, possible := d.uncovered(live), true
	d.eachLeaf(func(path fieldpath.Path) {
		if !possible {
			return
		}
		steps, changed, ok := d.replace(path, live)
		possible = ok && (changed || !uncovered.Has(path))
		patch = append(patch, steps...)
	})
	if !possible || len(patch) == 1 {
		return nil, false
	}
	return patch, true
}

// UpdatedOnly reports whether all that we own of live is in one Update entry in the rendered apiVersion.
func (d *Desired) UpdatedOnly(live *unstructured.Unstructured) bool {
	own := OwnEntries(live)
	return len(own) == 1 && own[0].Operation == OperationUpdate && own[0].APIVersion == d.Object.GetAPIVersion()
}

// replace is how a leaf of live gets the rendered value. changed is false where it has that. ok is false where it cannot
// be replaced: where it does not exist, and where others may have a part of what is.
func (d *Desired) replace(path fieldpath.Path, live *unstructured.Unstructured) (steps []Operation, changed, ok bool) {
	var want, have any = d.Object.Object, live.Object
	ref := d.kind.root
	for _, element := range path {
		if element.Value != nil { // an item of a set exists or not
			list, isList := have.([]any)
			return nil, false, isList && indexOf(list, *element.Value) >= 0
		}
		if want, ref, ok = d.kind.step(want, ref, element); !ok {
			return nil, false, false
		}
		if have, _, ok = StepInto(have, element); !ok {
			return nil, false, false
		}
	}
	switch {
	case equalValues(want, have):
		return nil, false, true
	case mayVanish(want):
		return nil, false, false
	case !d.kind.indivisible(ref, want) || !d.kind.indivisible(ref, have):
		return nil, false, d.emptyGranular(path)
	}
	return replacing(live.Object, path, want), true, true
}

// equalValues reports whether two values are the same to the API server. Most are texts or numbers of one type.
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
	}
	return value.Equals(value.NewValueInterface(a), value.NewValueInterface(b))
}

// replacing puts a value at a path that exists, after tests of the keys of each list item on the way.
func replacing(at any, path fieldpath.Path, v any) (steps []Operation) {
	pointer := ""
	for _, element := range path {
		next, token, _ := StepInto(at, element)
		at, pointer = next, pointer+"/"+token
		if element.Key == nil {
			continue
		}
		for _, key := range *element.Key {
			steps = append(steps, Operation{Op: "test", Path: pointer + "/" + EscapePointer(key.Name), Value: key.Value.Unstructured()})
		}
	}
	return append(steps, Operation{Op: "replace", Path: pointer, Value: v})
}

// indivisible reports whether a value of a type is replaced as a whole by whoever applies it.
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

// mayVanish reports whether Go's types may drop a value when it is stored: it could not be seen to be ours, see create.
func mayVanish(v any) bool {
	return v == false || v == "" || v == int64(0) || v == 0.0
}
