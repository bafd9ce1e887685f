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
	"kanon.dev/kanon/engine/queue"
)

// This file turns the findings of package feedback into messages.

// OfLoop returns the problem of a loop that a reconcile is part of. titleOf returns how the message names a rule, by
// its id; known is false if the message must not reveal more of the rule.
func OfLoop(loop *feedback.Loop, titleOf func(rule string) (title string, known bool)) Problem {
	return Problem{
		Subject: "loop", Reason: ReasonLoop, Stalled: true,
		Err: fmt.Errorf("it never becomes stable: each of more than %d changes was caused by the one before, and by nothing else (%s); "+
			"Kanon reconciles it with growing pauses, until one of these rules does not depend on what it writes",
			loop.Rounds, chainOf(loop.Steps, titleOf)),
	}
}

// chainOf lists the steps that lead from a key back to itself.
func chainOf(steps []feedback.Step, titleOf func(rule string) (title string, known bool)) string {
	text := make([]string, 0, len(steps)+1)
	for _, step := range steps {
		name, known := subjectOf(step.Key, titleOf)
		if known {
			name += " writes " + step.Wrote
		}
		text = append(text, name)
	}
	if len(steps) > 0 {
		name, _ := subjectOf(steps[0].Key, titleOf)
		text = append(text, name)
	}
	return strings.Join(text, " → ")
}

// subjectOf names a key in a message.
func subjectOf(k queue.Key, titleOf func(rule string) (title string, known bool)) (text string, known bool) {
	if text, known = titleOf(k.Rule); known {
		text += " for " + strings.TrimPrefix(k.Parent.String(), "/") // a cluster-scoped parent has no namespace
	}
	return text, known
}

// FieldConflictError reports that an object is not written, or was not for a while, because others keep changing its
// fields back.
type FieldConflictError struct {
	feedback.Conflict

	Object mark.Ref
	// NameOf returns how the message names a field manager.
	NameOf func(manager string) string
	// Patched is true if a patch sets the fields. A patch cannot ignore any.
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

// After returns when the parent must be reconciled again for the object.
func (e *FieldConflictError) After() time.Duration { return e.Wait + time.Millisecond }
