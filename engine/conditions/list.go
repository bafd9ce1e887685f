package conditions

import (
	"fmt"
	"maps"
	"slices"
)

// List remembers which conditions of a parent are a rule's, where the API server takes the whole list for one value: an apply
// would erase the conditions of others, and no field manager tells whose an item is. The zero value remembers nothing.
type List struct {
	// foreign has the types that others had before the rule wrote any, and texts what each of the rule's read last.
	foreign map[string]bool
	texts   map[string]string
}

// IsEmpty tells whether nothing is remembered.
func (l *List) IsEmpty() bool { return l.foreign == nil }

// Owner says which conditions of a list can be a rule's.
type Owner struct {
	Prefix string
	// Types are those of spec.conditions.
	Types []string
	// Yields is true if Kanon's own conditions on the parent are left to another rule.
	Yields bool
	// Wrote is true if the rule's field manager has written the list before.
	Wrote bool
}

// Merge puts a rule's conditions into a list, in the order of the list, and takes out those of Kanon's that no longer hold.
// Those of others stay. overwritten are the types that somebody changed although the rule still renders the same.
func (l *List) Merge(before, own []any, owner Owner) (after []any, overwritten []string) {
	next := make(map[string]any, len(own))
	for _, item := range own {
		next[TypeOf(item)] = item
	}
	l.learn(before, own, owner)
	after = make([]any, 0, len(before)+len(own))
	for _, item := range before {
		name := TypeOf(item)
		rendered, has := next[name]
		delete(next, name)
		switch {
		case !l.isOwn(name, owner):
			after = append(after, item)
		case has:
			after = append(after, rendered)
			if l.texts[name] == textOf(rendered) && textOf(item) != textOf(rendered) {
				overwritten = append(overwritten, name)
			}
		}
	}
	for _, item := range own {
		if _, left := next[TypeOf(item)]; left {
			after = append(after, item)
		}
	}
	l.texts = make(map[string]string, len(own))
	for _, item := range own {
		l.texts[TypeOf(item)] = textOf(item)
	}
	return after, overwritten
}

// learn notes, the first time, which items are somebody else's: what others had before the rule wrote any. After a restart,
// where the rule has written some, all of its types are its own that have the fields which it writes, or wrote before it
// was removed.
func (l *List) learn(before, own []any, owner Owner) {
	if l.foreign != nil {
		return
	}
	l.foreign = make(map[string]bool)
	isKanons := func(item any) bool {
		fields, _ := item.(map[string]any)
		reason, _ := fields["reason"].(string)
		return IsKanons(owner.Prefix, TypeOf(item)) && IsReason(reason)
	}
	wrote := owner.Wrote || slices.ContainsFunc(before, isKanons)
	for _, item := range before {
		isLike := wrote && (len(own) == 0 && isDated(item) || slices.ContainsFunc(own, func(other any) bool { return sameFields(item, other) }))
		l.foreign[TypeOf(item)] = !isKanons(item) && (!isLike || IsKanons(owner.Prefix, TypeOf(item)))
	}
}

func (l *List) isOwn(name string, owner Owner) bool {
	return !l.foreign[name] && (!owner.Yields && IsKanons(owner.Prefix, name) || slices.Contains(owner.Types, name))
}

// sameFields tells whether two conditions are of one type and have the same fields.
func sameFields(a, b any) bool {
	left, _ := a.(map[string]any)
	right, _ := b.(map[string]any)
	return TypeOf(a) == TypeOf(b) && maps.EqualFunc(left, right, func(any, any) bool { return true })
}

// isDated tells whether a condition has the fields that each of a rule's has.
func isDated(condition any) bool {
	fields, _ := condition.(map[string]any)
	return fields["lastTransitionTime"] != nil && fields["observedGeneration"] != nil
}

// textOf is what a condition says, without its times.
func textOf(condition any) string {
	fields, _ := condition.(map[string]any)
	return fmt.Sprint(fields["status"], fields["reason"], fields["message"])
}
