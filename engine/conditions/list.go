package conditions

import (
	"fmt"
	"maps"
	"slices"
)

// List remembers which conditions of a parent are a rule's, if the API server treats the whole list as one value: an
// apply would erase the conditions of others, and no field manager shows whose an item is. The zero value remembers
// nothing.
type List struct {
	// foreign has the types that others had before the rule wrote any, and texts the last text of each condition of the
	// rule.
	foreign map[string]bool
	texts   map[string]string
}

// IsEmpty reports whether nothing is remembered.
func (l *List) IsEmpty() bool { return l.foreign == nil }

// Owner describes which conditions of a list can be a rule's.
type Owner struct {
	Prefix string
	// Types are those of spec.conditions.
	Types []string
	// Yields is true if Kanon's own conditions on the parent are another rule's.
	Yields bool
	// Wrote is true if the rule's field manager has written the list before.
	Wrote bool
}

// Merge puts a rule's conditions into a list, in the order of the list, and removes those of Kanon's that no longer
// hold. It keeps those of others. overwritten are the types that somebody changed although the rule still renders the
// same.
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
	l.texts = make(map[string]string, len(own))
	for _, item := range own {
		name := TypeOf(item)
		if _, left := next[name]; left {
			after = append(after, item)
		}
		l.texts[name] = textOf(item)
	}
	return after, overwritten
}

// learn decides, once, which items are somebody else's: those that existed before the rule wrote any. After a restart,
// the rule has already written some. Then all conditions of its types count as its own if they have the fields that the
// rule writes, or wrote before it was removed.
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

// sameFields reports whether two conditions have the same type and the same fields.
func sameFields(a, b any) bool {
	left, _ := a.(map[string]any)
	right, _ := b.(map[string]any)
	return TypeOf(a) == TypeOf(b) && maps.EqualFunc(left, right, func(any, any) bool { return true })
}

// isDated reports whether a condition has the fields that each condition of a rule has.
func isDated(condition any) bool {
	fields, _ := condition.(map[string]any)
	return fields["lastTransitionTime"] != nil && fields["observedGeneration"] != nil
}

// textOf returns the status, reason and message of a condition.
func textOf(condition any) string {
	fields, _ := condition.(map[string]any)
	return fmt.Sprint(fields["status"], fields["reason"], fields["message"])
}
