package conditions

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/feedback"
)

// What package feedback finds, as people read it.

// OfLoop is the loop that a reconcile is part of. nameOf is what people call a rule, by its id.
func OfLoop(loop *feedback.Loop, nameOf func(rule string) string) Problem {
	text := make([]string, 0, len(loop.Steps)+1)
	for _, step := range loop.Steps {
		text = append(text, fmt.Sprintf("rule %s for %s writes %s", nameOf(step.Key.Rule), step.Key.Parent, step.Wrote))
	}
	if len(loop.Steps) > 0 {
		first := loop.Steps[0].Key
		text = append(text, fmt.Sprintf("rule %s for %s", nameOf(first.Rule), first.Parent))
	}
	why := fmt.Sprintf("each of the last %d changes was caused by the one before, and by nothing else", loop.Rounds)
	if loop.Kind == feedback.Repeating {
		why = "each change is caused by the one before, and by nothing else, and restores an earlier state"
	}
	return Problem{
		Subject: "loop", Reason: ReasonLoop, Stalled: true,
		Err: fmt.Errorf("it never becomes stable: %s (%s); "+
			"Kanon reconciles it with growing pauses, until one of these rules does not depend on what it writes", why, strings.Join(text, " → ")),
	}
}

// FieldConflictError reports that an object is not written, or was not for a while, because others keep taking fields of it back.
type FieldConflictError struct {
	feedback.Conflict

	Object mark.Ref
	// NameOf is what people call a field manager.
	NameOf func(manager string) string
	// Patched is true where it is a patch that sets the fields, which can ignore nothing.
	Patched bool
}

// Reason implements Reasoned.
func (e *FieldConflictError) Reason() (reason string, stalled bool) { return ReasonContested, true }

func (e *FieldConflictError) Error() string {
	var paths, ignored []string
	managers := make(map[string]bool)
	for _, f := range e.Fields {
		name := "somebody who removes it"
		if f.Manager != "" {
			name = e.NameOf(f.Manager)
		}
		managers[name] = true
		paths = append(paths, f.Path)
		if !e.Patched && !fieldset.IsMark(f.Path) {
			ignored = append(ignored, fmt.Sprintf("%q", f.Path))
		}
	}
	text := fmt.Sprintf("%s of %s is changed back again and again by %s; Kanon does not write it for now, and retries with growing pauses",
		strings.Join(paths, ", "), e.Object, strings.Join(slices.Sorted(maps.Keys(managers)), " and by "))
	if len(ignored) > 0 {
		text += "; to stop writing it, write ignore: [" + strings.Join(ignored, ", ") + "]"
	}
	return text
}

// After is how long it takes until the parent is due for the object again.
func (e *FieldConflictError) After() time.Duration { return e.Wait + time.Millisecond }
