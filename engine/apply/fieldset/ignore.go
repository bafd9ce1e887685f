package fieldset

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	smdschema "sigs.k8s.io/structured-merge-diff/v6/schema"
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

// cutter removes the fields that a path names from an object.
type cutter struct {
	kind Kind
	path Path
	// against is true if an object is cut for an apply to a live one. Then a parent of the field that does not exist
	// yet is created complete, so nothing is cut from it, and missing becomes true.
	against, missing bool
}

// cut removes what the path names from v, which has type ref and is at the first done steps of the path. keep is
// false if nothing of v is left. It changes the maps of v. live is the live object's value in this place.
func (c *cutter) cut(v any, ref smdschema.TypeRef, live any, done int) (left any, keep bool, err error) {
	if done == len(c.path) {
		return nil, false, nil
	}
	if c.path[done].Keys != nil {
		return c.cutItems(v, ref, live, done)
	}
	m, ok := v.(map[string]any)
	if !ok {
		return v, true, nil // schema validation reports what is wrong
	}
	atom := c.kind.atom(ref)
	if atom.Map == nil || atom.Map.ElementRelationship == smdschema.Atomic {
		return nil, false, c.indivisible(done)
	}
	there, ok := live.(map[string]any)
	if c.against && !ok {
		c.missing = true
		return v, true, nil
	}
	name := c.path[done].Field
	inner, ok := m[name]
	if !ok {
		return v, true, nil
	}
	left, keep, err = c.cut(inner, fieldType(atom.Map, name), there[name], done+1)
	if err != nil {
		return nil, false, err
	}
	if keep {
		m[name] = left
		return m, true, nil
	}
	delete(m, name)
	return m, len(m) > 0, nil
}

// cutItems is cut for a step that selects items of a list.
func (c *cutter) cutItems(v any, ref smdschema.TypeRef, live any, done int) (left any, keep bool, err error) {
	items, ok := v.([]any)
	if !ok {
		return v, true, nil
	}
	list := c.kind.atom(ref).List
	if list == nil || list.ElementRelationship != smdschema.Associative || len(list.Keys) == 0 {
		return nil, false, c.indivisible(done)
	}
	for name := range c.path[done].Keys {
		if !slices.Contains(list.Keys, name) {
			return nil, false, fmt.Errorf("ignore: %s: the items of %s are told apart by %s, not by %s",
				textOfPath(c.path), textOfPath(c.path[:done]), strings.Join(list.Keys, " and "), name)
		}
	}
	if rest := c.path[done+1:]; len(rest) == 1 && slices.Contains(list.Keys, rest[0].Field) {
		return nil, false, fmt.Errorf("ignore: %s: %s tells the items of %s apart", textOfPath(c.path), rest[0].Field, textOfPath(c.path[:done]))
	}
	there, _ := live.([]any)
	kept := make([]any, 0, len(items))
	for _, item := range items {
		m, ok := item.(map[string]any)
		if !ok || !selects(c.path[done], func(name string) any { return m[name] }) {
			kept = append(kept, item)
			continue
		}
		found := sameItem(there, m, list.Keys)
		if c.against && found == nil {
			c.missing = true
			kept = append(kept, item)
			continue
		}
		left, keep, err := c.cut(item, list.ElementType, found, done+1)
		if err != nil {
			return nil, false, err
		}
		if keep {
			kept = append(kept, left)
		}
	}
	return kept, len(kept) > 0, nil
}

// indivisible reports that the value at the first done steps of the path is one value to the API server, so that a
// part of it cannot be left to others: an apply would remove it.
func (c *cutter) indivisible(done int) error {
	return fmt.Errorf("ignore: %s: %s is one value to the API server; ignore it as a whole, or nothing of it", textOfPath(c.path), textOfPath(c.path[:done]))
}

// sameItem returns the item of a live list with the keys of a rendered one; nil if there is none.
func sameItem(live []any, item map[string]any, keys []string) any {
	for _, other := range live {
		m, ok := other.(map[string]any)
		if ok && !slices.ContainsFunc(keys, func(key string) bool { return textOf(m[key]) != textOf(item[key]) }) {
			return m
		}
	}
	return nil
}
