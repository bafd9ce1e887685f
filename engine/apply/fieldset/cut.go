package fieldset

import (
	"fmt"
	"slices"
	"strings"

	smdschema "sigs.k8s.io/structured-merge-diff/v6/schema"
)

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
