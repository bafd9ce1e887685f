package reconcile

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine/apply"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/apply/refusal"
	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/engine/pacing"
	"kanon.dev/kanon/engine/parents"
	"kanon.dev/kanon/kinds/restmapping"
	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/rules/syntax"
)

// recreationsOf returns how often in a row an object was recreated, and the pause after the last time. An annotation of
// the object records this, so a restart forgets it only between the deletion of the old object and the creation of the
// new one.
func recreationsOf(live *unstructured.Unstructured, now time.Time, limits pacing.Limits) pacing.Backoff {
	count, at, _ := strings.Cut(live.GetAnnotations()[mark.AnnotationRecreated], " ")
	n, err := strconv.Atoi(count)
	if err != nil || n < 1 {
		return pacing.Backoff{}
	}
	last, err := time.Parse(time.RFC3339, at)
	if err != nil || hasLasted(last, now, limits) {
		return pacing.Backoff{}
	}
	return pacing.NewBackoff(n, last, limits)
}

// recreationText is the value of that annotation for an object that is created at a time.
func recreationText(count int, at time.Time) string {
	return strconv.Itoa(count) + " " + at.UTC().Format(time.RFC3339)
}

// hasLasted reports whether an object has existed for so long that earlier recreations no longer count.
func hasLasted(recreated, now time.Time, limits pacing.Limits) bool {
	return now.Sub(recreated) >= 2*limits.Max
}

// carryRecreation copies the count of recreations to a rendered object: from the live object, or from the one that was
// deleted for it.
func (c *childWriter) carryRecreation(object, live *unstructured.Unstructured) {
	text := ""
	if live != nil {
		text = live.GetAnnotations()[mark.AnnotationRecreated]
	} else if last, ok := c.memory.Recreations[identity.Of(object)]; ok {
		text = recreationText(last.Attempts, c.started)
	}
	if text == "" {
		return
	}
	annotations := object.GetAnnotations()
	if annotations == nil {
		annotations = make(map[string]string, 1)
	}
	annotations[mark.AnnotationRecreated] = text
	object.SetAnnotations(annotations)
}

// noteRecreations remembers the objects that were deleted to be recreated, until they exist again. pending are
// recreations that follow later.
func (c *childWriter) noteRecreations(writes []*write) (pending []conditions.Problem) {
	maps.DeleteFunc(c.memory.Recreations, func(_ identity.ID, r parents.Recreation) bool {
		return hasLasted(r.Last, c.started, c.recreateLimits)
	})
	for _, w := range writes {
		switch {
		case w.recreated != nil:
			if c.memory.Recreations == nil {
				c.memory.Recreations = make(map[identity.ID]parents.Recreation)
			}
			c.memory.Recreations[w.id] = *w.recreated
		case w.live != nil:
			delete(c.memory.Recreations, w.id)
		}
		c.noteBlockedRecreation(w)
		if w.pending != nil {
			of := conditions.Problem{Subject: "child " + w.node, Reason: conditions.ReasonRecreating, Err: w.pending}
			if blocked, ok := errors.AsType[*conditions.BlockedRecreationError](w.pending); ok {
				of.Reason, of.Stalled = conditions.ReasonPruneHeld, blocked.Reported
			}
			pending = append(pending, of)
		}
	}
	return pending
}

// write updates a child in place. If the rule wants it recreated instead, write deletes it and returns an error that
// says that its deletion is awaited.
func (c *childWriter) write(ctx context.Context, kind restmapping.Kind, child *apply.Child, w *write) (apply.Result, error) {
	policy := c.op.Recreators[w.node]
	switch {
	case w.recreation.IsDue() && c.ownsBefore(w):
		err := c.recreate(ctx, kind, child, w, w.before, "its recreateWhen is true")
		if !errors.As(err, new(*conditions.RecreatedRecentlyError)) && !errors.As(err, new(*conditions.BlockedRecreationError)) {
			return apply.Result{}, err
		}
		// A change in place could make recreateWhen false, and the object would not be recreated.
		w.pending = err
		return c.leaveAsIs(ctx, w)
	case policy == syntax.UpdateRecreate && c.ownsBefore(w) && child.Changed(w.before):
		if w.recreation == program.RecreationForbidden {
			return c.leaveAsIs(ctx, w)
		}
		return c.recreateOrKeep(ctx, kind, child, w, w.before, "its content has changed")
	}
	result, err := c.writeInPlace(ctx, kind, child, w)
	var immutable *refusal.ImmutableError
	switch {
	case !errors.As(err, &immutable) || !c.Marks.Owns(immutable.Live, c.op.ID, c.parent.GetUID()):
		return result, err
	case policy == "" && program.MayRecreate(child.Object.GroupVersionKind()):
		return result, fmt.Errorf("%w; updatePolicy: ApplyOrRecreate would delete and recreate it", err)
	case policy == "":
		return result, err
	}
	if w.recreation == program.RecreationForbidden {
		return apply.Result{}, fmt.Errorf("it is not recreated, because its createWhen is not true: %w", err)
	}
	return c.recreateOrKeep(ctx, kind, child, w, immutable.Live,
		"the API server does not allow a change of "+strings.Join(immutable.Fields(), ", "))
}

// ownsBefore reports whether the object that is there is the parent's child and stays.
func (c *childWriter) ownsBefore(w *write) bool {
	return w.before != nil && w.before.GetDeletionTimestamp() == nil && c.Marks.Owns(w.before, c.op.ID, c.parent.GetUID())
}

// recreateOrKeep is recreate, except that it leaves an object as it is while the guard blocks its deletion.
func (c *childWriter) recreateOrKeep(ctx context.Context, kind restmapping.Kind, child *apply.Child, w *write, live *unstructured.Unstructured, why string) (apply.Result, error) {
	err := c.recreate(ctx, kind, child, w, live, why)
	if w.before == nil || !errors.As(err, new(*conditions.BlockedRecreationError)) {
		return apply.Result{}, err
	}
	w.pending = err
	return c.leaveAsIs(ctx, w)
}

// leaveAsIs is write for an object whose content stays.
func (c *childWriter) leaveAsIs(ctx context.Context, w *write) (apply.Result, error) {
	live, err := c.keepChild(ctx, w)
	return apply.Result{Live: live, Action: apply.ActionNone}, err
}

// recreate deletes an object of ours to recreate it, once its pause is over and if the API server would accept the new
// one. It never returns nil.
func (c *childWriter) recreate(ctx context.Context, kind restmapping.Kind, child *apply.Child, w *write, live *unstructured.Unstructured, why string) error {
	if may, blocked := c.guard.MayRecreate(c.op, c.key); !may {
		return &conditions.BlockedRecreationError{Object: mark.RefOf(live), Why: why, Reported: blocked}
	}
	limits, now := c.recreateLimits, c.started
	recreations := recreationsOf(live, now, limits)
	if wait := recreations.Remaining(now); wait > 0 {
		return &conditions.RecreatedRecentlyError{Object: mark.RefOf(live), Why: why, Count: recreations.Attempts, At: now.Add(wait), After: wait}
	}
	if err := c.Writer.WouldCreate(ctx, kind.GVR, child, live); err != nil {
		return fmt.Errorf("it is not recreated (%s), because a new one would be refused: %w", why, err)
	}
	if err := c.checkParent(ctx); err != nil {
		return err
	}
	defer c.Begin(live)()
	if err := c.Writer.DeleteInForeground(ctx, kind.GVR, live, child.Owner); err != nil {
		return err
	}
	c.deleted(live)
	if w.recreation == program.RecreationExpired {
		recreations = pacing.Backoff{} // it has lasted as long as the rule says, so earlier recreations do not count
	}
	recreations.Next(now, limits)
	w.recreated = &parents.Recreation{Backoff: recreations}
	if w.keepsGenerated {
		w.recreated.Replaced = live
	}
	conditions.Emit(c.Recorder, c.op.Name, c.parent, corev1.EventTypeNormal, conditions.ReasonRecreating,
		"%s is deleted to be recreated, by rule %s: %s", mark.RefOf(live), c.op.Name, why)
	return apply.TerminatingNow(live)
}

// noteBlockedRecreation records an object that may have to be recreated while the guard does not know yet what the
// rule's revision would delete in total. That includes one that could not be written, because it is unknown whether it
// needs to be recreated.
func (c *childWriter) noteBlockedRecreation(w *write) {
	if c.op.Recreators[w.node] == "" && !w.recreation.IsDue() || w.before == nil || w.recreated != nil {
		return
	}
	if isBlocked := errors.As(w.pending, new(*conditions.BlockedRecreationError)); isBlocked || w.err != nil {
		c.block(w.before)
	}
}

// noteBlockedForLater is noteBlockedRecreation for objects that are left as they are for now, by a rollout or until
// their dependencies are ready.
func (c *childWriter) noteBlockedForLater(node *program.Rendered) {
	policy := c.op.Recreators[node.Node]
	if may, _ := c.guard.MayRecreate(c.op, c.key); may {
		return
	}
	if policy == syntax.UpdateRecreate {
		for _, object := range node.Postponed {
			if live, err := c.reader.Live(object); err == nil && live != nil && c.reader.Outdated(node.Node, object, live) {
				c.block(live)
			}
		}
	}
	for _, awaiting := range node.Awaiting {
		if live, err := c.reader.Live(awaiting.Object); err == nil && live != nil && (policy != "" || awaiting.Recreation.IsDue()) {
			c.block(live)
		}
	}
}

// block records an object whose deletion the guard blocks, once.
func (c *childWriter) block(object *unstructured.Unstructured) {
	if id := identity.Of(object); !slices.Contains(c.blocked, id) {
		c.blocked = append(c.blocked, id)
	}
}

// delayOf is the message for nodes that wait for an object to be recreated; empty for any other error.
func delayOf(err error) string {
	if early, ok := errors.AsType[*conditions.RecreatedRecentlyError](err); ok {
		return fmt.Sprintf("%s is recreated at %s", early.Object, early.At.UTC().Format(time.RFC3339))
	}
	if terminating, ok := errors.AsType[*refusal.TerminatingError](err); ok {
		return terminating.Error()
	}
	return ""
}

// outdatedIn answers Outdated for an object that does not record with which content it was applied. An object that
// cannot be prepared counts as outdated; the write reports what is wrong with it.
func (c *childWriter) outdatedIn(ctx context.Context) func(node string, rendered, live *unstructured.Unstructured) bool {
	return func(node string, rendered, live *unstructured.Unstructured) bool {
		object := rendered.DeepCopy()
		c.carryRecreation(object, live)
		w := &write{node: node, object: object}
		if c.op.CanOwn(c.parent, object) {
			w.controller = c.op.ControllerRef(c.parent)
		}
		child, err := c.Writer.Prepare(ctx, object, c.op.Owner(c.parent, node), w.controller, c.policyOf(node, rendered))
		return err != nil || child.Outdated(live)
	}
}
