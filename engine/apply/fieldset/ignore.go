package fieldset

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"kanon.dev/kanon/engine/apply/mark"
)

// Ignored fields. A child whose policy ignores fields has two forms: the whole one, which is what a POST sends, and the
// one without these fields, which is hashed, applied and checked. An ignored field is never taken from whoever has it,
// and nothing is removed for not being applied any more:
//
//   - An apply removes a field that our last apply had and this one lacks. So before an apply our Apply entry must hold
//     no ignored path; where it does (because the field was not ignored before), managedFields are rewritten first, see
//     Writer.claimFields. What nobody has then stays as it is.
//   - An apply may have to make what holds an ignored field: a container that was added to the template, or taken away
//     by somebody. It is made whole, as at a creation; the fresh object decides, not the one in memory.
//   - The kinds' schemas must let the field be told apart from what is around it. A part of an atomic list or map cannot
//     be left to others, because an apply replaces the whole; such a child is not valid.

// Without returns the content without what the policy ignores, as it is applied to live (nil: to an object that has all
// that holds ignored fields). missing is true where live lacks something that holds one. content is not changed.
func (d *Desired) Without(content map[string]any, live *unstructured.Unstructured) (left map[string]any, missing bool, err error) {
	left = runtime.DeepCopyJSON(content)
	for _, path := range d.Ignore {
		cutter := &cutter{kind: d.kind, path: path, against: live != nil}
		var there any
		if live != nil {
			there = live.Object
		}
		if _, _, err := cutter.cut(left, d.kind.root, there, 0); err != nil {
			return nil, false, &SchemaMismatchError{Err: err}
		}
		missing = missing || cutter.missing
	}
	return left, missing, nil
}

// ContentFor is what is applied to live: the object, or where live lacks what holds an ignored field, the object with that as it is
// created. missing is true then.
func (d *Desired) ContentFor(live *unstructured.Unstructured) (content map[string]any, missing bool, err error) {
	if d.Whole == nil {
		return d.Object.Object, false, nil
	}
	left, missing, err := d.Without(d.Whole, live)
	if err != nil || !missing {
		return d.Object.Object, false, err
	}
	return d.WithMarks(left), true, nil
}

// split gives the object its two forms, where something is ignored.
func (d *Desired) split() error {
	if len(d.Ignore) == 0 {
		return nil
	}
	if err := d.kind.Validate(d.Object); err != nil {
		return err // of the fields that are only created
	}
	left, _, err := d.Without(d.Object.Object, nil)
	if err != nil {
		return err
	}
	d.Whole = d.Object.Object
	d.Object = &unstructured.Unstructured{Object: left}
	return nil
}

// ForCreation is what a POST sends.
func (d *Desired) ForCreation() *unstructured.Unstructured {
	if d.Whole == nil {
		return d.Object
	}
	return &unstructured.Unstructured{Object: d.WithMarks(d.Whole)}
}

// WithMarks returns content with the marks that the child's Object has.
func (d *Desired) WithMarks(content map[string]any) map[string]any {
	content = maps.Clone(content)
	metadata := maps.Clone(mark.EnsureMap(content, "metadata"))
	content["metadata"] = metadata
	ours, _ := d.Object.Object["metadata"].(map[string]any)
	for _, field := range []string{"labels", "annotations"} {
		own, _ := ours[field].(map[string]any)
		rendered, _ := metadata[field].(map[string]any)
		all := make(map[string]any, len(rendered)+len(own))
		maps.Copy(all, rendered)
		maps.Copy(all, own)
		metadata[field] = all
	}
	if references, ok := ours["ownerReferences"]; ok {
		metadata["ownerReferences"] = references
	}
	return content
}

// ignores reports whether a path of managedFields is one that the policy ignores, or below one.
func (d *Desired) ignores(path fieldpath.Path) bool {
	return slices.ContainsFunc(d.Ignore, func(ignored Path) bool { return ignored.leadsTo(path) })
}

func (p Path) leadsTo(path fieldpath.Path) bool {
	if len(path) < len(p) {
		return false
	}
	for i, step := range p {
		switch element := path[i]; {
		case step.Keys != nil:
			if element.Key == nil || !step.selects(keyOf(element)) {
				return false
			}
		case element.FieldName == nil || *element.FieldName != step.Field:
			return false
		}
	}
	return true
}

// keyOf reads the fields that tell an item of a list apart.
func keyOf(element fieldpath.PathElement) func(name string) any {
	return func(name string) any {
		i := slices.IndexFunc(*element.Key, func(field value.Field) bool { return field.Name == name })
		if i < 0 {
			return nil
		}
		return (*element.Key)[i].Value.Unstructured()
	}
}

// withoutIgnored is a set of paths without those that the policy ignores.
func (d *Desired) withoutIgnored(set *fieldpath.Set) *fieldpath.Set {
	if len(d.Ignore) == 0 {
		return set
	}
	ignored := &fieldpath.Set{}
	for path := range set.All() {
		if d.ignores(path) {
			ignored.Insert(path.Copy())
		}
	}
	return set.Difference(ignored)
}

// HoldsIgnored reports whether our Apply entry of live has a path that the policy ignores. One that cannot be read may.
func (d *Desired) HoldsIgnored(live *unstructured.Unstructured) bool {
	if len(d.Ignore) == 0 {
		return false
	}
	for _, e := range OwnEntries(live) {
		if e.Operation != OperationApply {
			continue
		}
		set, err := e.Fields()
		if err != nil || !d.withoutIgnored(set).Equals(set) {
			return true
		}
	}
	return false
}
