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

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine/apply"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/engine/operator"
	"kanon.dev/kanon/engine/queue"
	"kanon.dev/kanon/restmapping"
	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/rules/syntax"
)

// recreationsOf returns how often in a row an object was recreated, and the pause after the last time. An annotation of
// the object records this, so a restart forgets it only between the deletion of the old object and the creation of the
// new one.
func recreationsOf(live *unstructured.Unstructured, now time.Time, limits queue.Limits) queue.Backoff {
	count, at, _ := strings.Cut(live.GetAnnotations()[mark.AnnotationRecreated], " ")
	n, err := strconv.Atoi(count)
	if err != nil || n < 1 {
		return queue.Backoff{}
	}
	last, err := time.Parse(time.RFC3339, at)
	if err != nil || hasLasted(last, now, limits) {
		return queue.Backoff{}
	}
	return queue.NewBackoff(n, last, limits)
}

// recreationText is the value of that annotation for an object that is created at a time.
func recreationText(count int, at time.Time) string {
	return strconv.Itoa(count) + " " + at.UTC().Format(time.RFC3339)
}

// hasLasted reports whether an object has existed for so long that earlier recreations no longer count.
func hasLasted(recreated, now time.Time, limits queue.Limits) bool {
	return now.Sub(recreated) >= 2*limits.Max
}

// carryRecreation copies the count of recreations to a rendered object: from the live object, or from the one that was
// deleted for it.
func (p *pass) carryRecreation(object, live *unstructured.Unstructured) {
	text := ""
	if live != nil {
		text = live.GetAnnotations()[mark.AnnotationRecreated]
	} else if last, ok := p.memory.Recreations[identity.Of(object)]; ok {
		text = recreationText(last.Attempts, p.started)
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
func (p *pass) noteRecreations(writes []*childWrite) (pending []conditions.Problem) {
	maps.DeleteFunc(p.memory.Recreations, func(_ identity.ID, r conditions.Recreation) bool {
		return hasLasted(r.Last, p.started, p.r.RecreateLimits)
	})
	for _, w := range writes {
		switch {
		case w.recreated != nil:
			if p.memory.Recreations == nil {
				p.memory.Recreations = make(map[identity.ID]conditions.Recreation)
			}
			p.memory.Recreations[w.id] = *w.recreated
		case w.live != nil:
			delete(p.memory.Recreations, w.id)
		}
		p.noteBlockedRecreation(w)
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

// writeOrRecreate updates a child in place. If the rule wants it recreated instead, it deletes the child and returns an
// error that says that its deletion is awaited.
func (p *pass) writeOrRecreate(ctx context.Context, kind restmapping.Kind, child *apply.Child, w *childWrite) (apply.Result, error) {
	policy := p.op.Recreators[w.node]
	switch {
	case w.recreation.IsDue() && p.ownsBefore(w):
		err := p.recreate(ctx, kind, child, w, w.before, "its recreateWhen is true")
		if !errors.As(err, new(*conditions.RecreatedRecentlyError)) && !errors.As(err, new(*conditions.BlockedRecreationError)) {
			return apply.Result{}, err
		}
		// A change in place could make recreateWhen false, and the object would not be recreated.
		w.pending = err
		return p.leaveAsIs(ctx, w)
	case policy == syntax.UpdateRecreate && p.ownsBefore(w) && child.Changed(w.before):
		if w.recreation == program.RecreationForbidden {
			return p.leaveAsIs(ctx, w)
		}
		return p.recreateOrKeep(ctx, kind, child, w, w.before, "its content has changed")
	}
	result, err := p.writeInPlace(ctx, child, w)
	var immutable *apply.ImmutableError
	switch {
	case !errors.As(err, &immutable) || !p.r.Marks.Owns(immutable.Live, p.op.ID, p.parent.GetUID()):
		return result, err
	case policy == "" && program.KeepsPods(child.Object.GroupVersionKind()):
		return result, fmt.Errorf("%w; updatePolicy: ApplyOrRecreate with recreatePropagation: Orphan would recreate it and keep its Pods", err)
	case policy == "" && program.MayRecreate(child.Object.GroupVersionKind()):
		return result, fmt.Errorf("%w; updatePolicy: ApplyOrRecreate would delete and recreate it", err)
	case policy == "":
		return result, err
	}
	if w.recreation == program.RecreationForbidden {
		return apply.Result{}, fmt.Errorf("it is not recreated, because its createWhen is not true: %w", err)
	}
	return p.recreateOrKeep(ctx, kind, child, w, immutable.Live,
		"the API server does not allow a change of "+strings.Join(immutable.Fields(), ", "))
}

// ownsBefore reports whether the object that is there is the parent's child and stays.
func (p *pass) ownsBefore(w *childWrite) bool {
	return w.before != nil && w.before.GetDeletionTimestamp() == nil && p.r.Marks.Owns(w.before, p.op.ID, p.parent.GetUID())
}

// recreateOrKeep is recreate, except that it leaves an object as it is while the guard blocks its deletion.
func (p *pass) recreateOrKeep(ctx context.Context, kind restmapping.Kind, child *apply.Child, w *childWrite, live *unstructured.Unstructured, why string) (apply.Result, error) {
	err := p.recreate(ctx, kind, child, w, live, why)
	if w.before == nil || !errors.As(err, new(*conditions.BlockedRecreationError)) {
		return apply.Result{}, err
	}
	w.pending = err
	return p.leaveAsIs(ctx, w)
}

// leaveAsIs is writeOrRecreate for an object whose content stays.
func (p *pass) leaveAsIs(ctx context.Context, w *childWrite) (apply.Result, error) {
	live, err := p.keepChild(ctx, w)
	return apply.Result{Live: live, Action: apply.ActionNone}, err
}

// recreate deletes an object of ours to recreate it, once its pause is over and if the API server would accept the new
// one. It never returns nil.
func (p *pass) recreate(ctx context.Context, kind restmapping.Kind, child *apply.Child, w *childWrite, live *unstructured.Unstructured, why string) error {
	if may, blocked := p.r.Guard.MayRecreate(p.op, p.key); !may {
		return &conditions.BlockedRecreationError{Object: mark.RefOf(live), Why: why, Reported: blocked}
	}
	limits, now := p.r.RecreateLimits, p.started
	recreations := recreationsOf(live, now, limits)
	if wait := recreations.Remaining(now); wait > 0 {
		return &conditions.RecreatedRecentlyError{Object: mark.RefOf(live), Why: why, Count: recreations.Attempts, At: now.Add(wait), After: wait}
	}
	if err := p.r.Writer.WouldCreate(ctx, child, live); err != nil {
		return fmt.Errorf("it is not recreated (%s), because a new one would be refused: %w", why, err)
	}
	if err := p.checkParent(ctx); err != nil {
		return err
	}
	defer p.beginWrite(live)()
	if err := p.r.Writer.DeleteToRecreate(ctx, kind.GVR, live, child.Owner, p.op.Propagations[w.node]); err != nil {
		return err
	}
	p.deleted(live)
	if w.recreation == program.RecreationExpired {
		recreations = queue.Backoff{} // it has lasted as long as the rule says, so earlier recreations do not count
	}
	recreations.Next(now, limits)
	w.recreated, w.why = &conditions.Recreation{Backoff: recreations}, why
	if w.keepsGenerated {
		w.recreated.Replaced = live
	}
	p.emit(conditions.ReasonRecreating,
		"%s is deleted to be recreated, by rule %s: %s", mark.RefOf(live), p.op.Name, why)
	return apply.TerminatingNow(live)
}

// noteBlockedRecreation records an object that may have to be recreated while the guard does not know yet what the
// rule's revision would delete in total. That includes one that could not be written, because it is unknown whether it
// needs to be recreated.
func (p *pass) noteBlockedRecreation(w *childWrite) {
	if p.op.Recreators[w.node] == "" && !w.recreation.IsDue() || w.before == nil || w.recreated != nil {
		return
	}
	if isBlocked := errors.As(w.pending, new(*conditions.BlockedRecreationError)); isBlocked || w.err != nil {
		p.block(w.before)
	}
}

// noteBlockedForLater is noteBlockedRecreation for objects that are left as they are for now, by a rollout or until
// their dependencies are ready.
func (p *pass) noteBlockedForLater(node *program.Rendered) {
	policy := p.op.Recreators[node.Node]
	if may, _ := p.r.Guard.MayRecreate(p.op, p.key); may {
		return
	}
	if policy == syntax.UpdateRecreate {
		for _, object := range node.Postponed {
			if live, err := p.reader.Live(object); err == nil && live != nil && p.reader.Outdated(node.Node, object, live) {
				p.block(live)
			}
		}
	}
	for _, awaiting := range node.Awaiting {
		if live, err := p.reader.Live(awaiting.Object); err == nil && live != nil && (policy != "" || awaiting.Recreation.IsDue()) {
			p.block(live)
		}
	}
}

// block records an object whose deletion the guard blocks, once.
func (p *pass) block(object *unstructured.Unstructured) {
	if id := identity.Of(object); !slices.Contains(p.blocked, id) {
		p.blocked = append(p.blocked, id)
	}
}

// delayOf is the message for nodes that wait for an object to be recreated; empty for any other error.
func delayOf(err error) string {
	if early, ok := errors.AsType[*conditions.RecreatedRecentlyError](err); ok {
		return fmt.Sprintf("%s is recreated at %s", early.Object, early.At.UTC().Format(time.RFC3339))
	}
	if terminating, ok := errors.AsType[*apply.TerminatingError](err); ok {
		return terminating.Error()
	}
	return ""
}

// isOutdated answers Outdated for an object that does not record with which content it was applied. An object that
// cannot be prepared counts as outdated; the write reports what is wrong with it.
func (p *pass) isOutdated(ctx context.Context, node string, rendered, live *unstructured.Unstructured) bool {
	object := rendered.DeepCopy()
	p.carryRecreation(object, live)
	var controller *metav1.OwnerReference
	if operator.CanOwn(p.op.Program, p.parent, object) {
		controller = p.op.ControllerRef(p.parent)
	}
	child, err := p.r.Writer.Prepare(ctx, apply.Wanted{
		Object: object, Owner: p.op.Owner(p.parent, node), Controller: controller, Policy: p.policyOf(node, rendered),
	})
	return err != nil || child.Outdated(live)
}
