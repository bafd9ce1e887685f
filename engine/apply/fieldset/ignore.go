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

// A child whose policy ignores fields has two forms: the whole one, which a POST sends, and the one without these
// fields, which is hashed, applied and checked. An ignored field is never taken from its owner, and is not removed
// because it is no longer applied:
//
//   - An apply removes a field that our last apply had and this one lacks. So our Apply entry must have no ignored path before an
//     apply. If it does, because the field was not ignored before, managedFields are rewritten first; see Writer.claimFields. What
//     then has no owner stays as it is.
//   - An apply may have to create the parent of an ignored field: a struct or list item that was added to the template, or
//     removed by somebody. It is created completely, as in a new object; an object read for this decides, not the one in memory.
//   - The kind's schema must separate the field from its surroundings. A part of an atomic list or map cannot be left to others,
//     because an apply replaces all of it; such a child is not valid.

// Without returns the content without what the policy ignores, as it is applied to live. A nil live stands for an
// object that has all parents of ignored fields. missing is true if live lacks one of those. content is not changed.
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

// ContentFor returns what is applied to live: the object or, if live lacks parents of ignored fields, the object with
// these as they are created. missing is true in that case.
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

// split separates the two forms of the object, if something is ignored.
func (d *Desired) split() error {
	if len(d.Ignore) == 0 {
		return nil
	}
	if err := d.kind.Validate(d.Object); err != nil {
		return err // covers the fields that are only created
	}
	left, _, err := d.Without(d.Object.Object, nil)
	if err != nil {
		return err
	}
	d.Whole = d.Object.Object
	d.Object = &unstructured.Unstructured{Object: left}
	return nil
}

// ForCreation returns what a POST sends.
func (d *Desired) ForCreation() *unstructured.Unstructured {
	if d.Whole == nil {
		return d.Object
	}
	return &unstructured.Unstructured{Object: d.WithMarks(d.Whole)}
}

// WithMarks returns content with the marks of Object.
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

// ignores reports whether the policy ignores a path of managedFields, or a path above it.
func (d *Desired) ignores(path fieldpath.Path) bool {
	return slices.ContainsFunc(d.Ignore, func(ignored Path) bool { return leadsTo(ignored, path) })
}

// leadsTo reports whether a path of managedFields is an ignored one, or below it.
func leadsTo(ignored Path, path fieldpath.Path) bool {
	if len(path) < len(ignored) {
		return false
	}
	for i, step := range ignored {
		switch element := path[i]; {
		case step.Keys != nil:
			if element.Key == nil || !selects(step, keyOf(element)) {
				return false
			}
		case element.FieldName == nil || *element.FieldName != step.Field:
			return false
		}
	}
	return true
}

// keyOf returns a function that reads the keys of a list item.
func keyOf(element fieldpath.PathElement) func(name string) any {
	return func(name string) any {
		i := slices.IndexFunc(*element.Key, func(field value.Field) bool { return field.Name == name })
		if i < 0 {
			return nil
		}
		return (*element.Key)[i].Value.Unstructured()
	}
}

// withoutIgnored returns a set of paths without those that the policy ignores.
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

// OwnsIgnored reports whether our Apply entry in live has a path that the policy ignores. It returns true if the
// entry cannot be decoded.
func (d *Desired) OwnsIgnored(live *unstructured.Unstructured) bool {
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
