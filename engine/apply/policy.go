package apply

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	smdschema "sigs.k8s.io/structured-merge-diff/v6/schema"
)

// Policy says how a child is treated where that is not as usual. The zero value is as usual. What it says of the content
// belongs into Writer.sourceOf too.
type Policy struct {
	// Ignore are the fields that are set when what holds them is made, and left to others from then on: they are not
	// applied again, do not count as drift, and are not removed.
	Ignore []Path
	// Relinquished are those of Ignore that are ignored for now, because a condition holds: another time they are applied.
	Relinquished []Path
	// New are fields that are generated: they are set in an object that lacks them, and only in exactly the version that was
	// seen without them.
	New []Path
	// Content asks for AnnotationApplied to tell by itself whether the content is another one: see Outdated.
	Content bool
}

// Path leads from an object to a field, or to items of a list. What is below is meant too.
type Path []Step

// Step is one step of a Path.
type Step struct {
	// Field is the name of a field, or the key of a map. Empty where Keys is not.
	Field string
	// Keys select items of a list, by the text of some of the fields that tell them apart.
	Keys map[string]string
}

// String writes the path for messages.
func (p Path) String() string {
	var b strings.Builder
	for i, step := range p {
		switch {
		case step.Keys != nil:
			var pairs []string
			for _, name := range slices.Sorted(maps.Keys(step.Keys)) {
				pairs = append(pairs, name+"="+step.Keys[name])
			}
			b.WriteString("[" + strings.Join(pairs, ",") + "]")
		case strings.ContainsAny(step.Field, "./"):
			b.WriteString("[" + step.Field + "]")
		case i > 0:
			b.WriteString("." + step.Field)
		default:
			b.WriteString(step.Field)
		}
	}
	return b.String()
}

// equal says whether two paths are the same.
func (p Path) equal(other Path) bool {
	return slices.EqualFunc(p, other, func(a, b Step) bool { return a.Field == b.Field && maps.Equal(a.Keys, b.Keys) })
}

// normalised is the policy for an object in its normal form, in which a Secret has no stringData.
func (p Policy) normalised(gk schema.GroupKind) Policy {
	if gk != (schema.GroupKind{Kind: "Secret"}) {
		return p
	}
	out := make([]Path, len(p.Ignore))
	for i, path := range p.Ignore {
		out[i] = path
		if path[0].Field == "stringData" {
			out[i] = append(Path{{Field: "data"}}, path[1:]...)
		}
	}
	p.Ignore = out
	return p
}

// cutter takes the fields that a path names out of an object.
type cutter struct {
	kind kind
	path Path
	// against is set where an object is cut for an apply to a live one: what holds a field and is not there yet is
	// made with it, so nothing is cut from it. missing is then true.
	against, missing bool
}

// cut returns v, which has type ref and is at the first done steps of the path, without what the rest of the path names;
// keep is false when nothing of it is left. It changes the maps of v. live is what the live object has in this place.
func (c *cutter) cut(v any, ref smdschema.TypeRef, live any, done int) (left any, keep bool, err error) {
	if done == len(c.path) {
		return nil, false, nil
	}
	if c.path[done].Keys != nil {
		return c.cutItems(v, ref, live, done)
	}
	m, ok := v.(map[string]any)
	if !ok {
		return v, true, nil // the kind's schema has to say what is wrong
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

// cutItems is cut for a step to items of a list.
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
				c.path, c.path[:done], strings.Join(list.Keys, " and "), name)
		}
	}
	if rest := c.path[done+1:]; len(rest) == 1 && slices.Contains(list.Keys, rest[0].Field) {
		return nil, false, fmt.Errorf("ignore: %s: %s tells the items of %s apart", c.path, rest[0].Field, c.path[:done])
	}
	there, _ := live.([]any)
	kept := make([]any, 0, len(items))
	for _, item := range items {
		m, ok := item.(map[string]any)
		if !ok || !c.path[done].selects(func(name string) any { return m[name] }) {
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

// indivisible says that what the first done steps of the path lead to is one value to the API server, so that a part of
// it cannot be left to others: an apply would take it away.
func (c *cutter) indivisible(done int) error {
	return fmt.Errorf("ignore: %s: %s is one value to the API server; ignore it as a whole, or nothing of it", c.path, c.path[:done])
}

// selects says whether an item's fields have the texts of Keys.
func (s Step) selects(field func(name string) any) bool {
	for name, text := range s.Keys {
		if textOf(field(name)) != text {
			return false
		}
	}
	return true
}

// textOf is a scalar as it is written in a path.
func textOf(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case int64:
		return strconv.FormatInt(v, 10)
	case nil:
		return ""
	default:
		return fmt.Sprint(v)
	}
}

// sameItem finds the item of a live list that has the keys of one that was rendered; nil where there is none.
func sameItem(live []any, item map[string]any, keys []string) any {
	for _, other := range live {
		m, ok := other.(map[string]any)
		if ok && !slices.ContainsFunc(keys, func(key string) bool { return textOf(m[key]) != textOf(item[key]) }) {
			return m
		}
	}
	return nil
}
