package reconcile

import (
	"context"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"kanon.dev/kanon/engine/apply"
	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/apply/refusal"
	"kanon.dev/kanon/engine/authorization"
	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/ending"
	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/engine/outcome"
	"kanon.dev/kanon/engine/pacing"
	"kanon.dev/kanon/engine/parallel"
	"kanon.dev/kanon/engine/parents"
	"kanon.dev/kanon/engine/plan"
	"kanon.dev/kanon/engine/readers"
	"kanon.dev/kanon/kinds/restmapping"
	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/wire"
)

// errParentDeleted reports that the parent turned out to be being deleted.
var errParentDeleted = conditions.Transient("the parent is being deleted")

// write is one child of a batch: what to write, and the result.
type write struct {
	node   string
	object *unstructured.Unstructured
	id     identity.ID                // of object
	before *unstructured.Unstructured // as the informer showed it; nil if it did not
	// owner is the owner that its mark names, and policy how it is written.
	owner  mark.Owner
	policy fieldset.Policy
	// controller is its owner reference to the parent; nil if it is tracked by its labels.
	controller *metav1.OwnerReference
	live       *unstructured.Unstructured // the object after the write; nil if the write failed or created nothing
	err        error
	// guarded is true for an object that must be left as it is if it turns out to exist.
	guarded bool
	// repairs is true for an object that is updated if it exists, but not created.
	repairs bool
	// recreation says whether to recreate it. recreated is set if it was deleted for that, and pending is why it is
	// recreated later.
	recreation program.Recreation
	recreated  *parents.Recreation
	pending    error
	// keepsGenerated is true if the object that replaces it keeps the generated values. fresh are the fields that were
	// generated now, because before lacks them.
	keepsGenerated bool
	fresh          [][]string
	// unseen is true if the object existed and the evaluation did not see it.
	unseen bool
}

// childWriter creates and updates what the rule rendered for a parent.
type childWriter struct {
	*changes

	reader    *reader
	finalizer *parentFinalizer
	endings   ending.Policies
	guard     Guard
	// limit is how many children are written at the same time.
	limit func() int
	// recreateLimits bounds the pauses of a child that is recreated.
	recreateLimits pacing.Limits

	// missed is true if a child exists, and is as the rule renders it, and its informer did not show it. No event may
	// follow that enqueues the parent.
	missed bool
	// blocked are children that may have to be recreated, and are not because of the guard.
	blocked []identity.ID
}

// writeBatch writes the nodes that can be written now, their children in parallel, and gives the evaluation their live
// objects. problems are the failures, in the order of the nodes. pending is what follows later and blocks nothing.
func (c *childWriter) writeBatch(ctx context.Context, batch []program.Rendered) (problems, pending []conditions.Problem) {
	var writes []*write
	for _, node := range batch {
		for i, object := range node.Objects {
			w := &write{node: node.Node, object: object, id: identity.Of(object), guarded: node.Guarded, repairs: node.Repairs(i), recreation: node.Recreation(i), keepsGenerated: node.KeepsGenerated(i), fresh: node.Fresh(i)}
			c.rendered[w.id], writes = true, append(writes, w)
		}
	}
	written := len(writes)
	for _, node := range batch {
		c.noteBlockedForLater(&node)
		for _, object := range node.Kept {
			c.rendered[identity.Of(object)] = true
			if live, err := c.reader.Live(object); err == nil && live != nil {
				writes = append(writes, &write{node: node.Node, object: object, id: identity.Of(object), before: live})
			}
		}
	}
	c.prepare(ctx, writes)
	parallel.Do(len(writes), c.limit(), func(i int, waits func()) {
		w := writes[i]
		defer outcome.ContainPanic(&w.err)
		switch {
		case w.err != nil:
		case i < written:
			w.live, w.err = c.writeChild(ctx, w, waits)
		default:
			waits()
			w.live, w.err = c.keepChild(ctx, w)
		}
	})
	pending = c.noteRecreations(writes)
	c.noteTimes(writes)

	for _, w := range writes[written:] {
		if w.err != nil {
			problems = append(problems, conditions.OfWrite("child "+w.node, w.err))
		}
	}
	for _, node := range batch {
		live := make([]*unstructured.Unstructured, len(node.Objects))
		for i := range node.Objects {
			w := writes[0]
			writes = writes[1:]
			live[i] = w.live
			c.reader.inputs.Child(w.id, w.before)
			c.reader.unseen, c.missed = c.reader.unseen || w.unseen, c.missed || w.unseen
			if w.err != nil {
				c.evaluation.Delay(node.Node, delayOf(w.err))
				problems = append(problems, c.awaitNamespace(w, conditions.OfWrite("child "+w.node, w.err)))
			}
		}
		c.evaluation.Applied(node.Node, live)
	}
	return problems, pending
}

// noteTimes requeues the parent for when a child that could not be written can be tried again.
func (c *childWriter) noteTimes(writes []*write) {
	for _, w := range writes {
		for _, err := range []error{w.err, w.pending} {
			if conflict, ok := errors.AsType[*conditions.FieldConflictError](err); ok {
				c.RequeueAfter(conflict.After())
			}
			if _, denied := errors.AsType[*authorization.DeniedError](err); denied {
				c.RequeueAfter(authorization.Lifetime)
			}
			if early, ok := errors.AsType[*conditions.RecreatedRecentlyError](err); ok {
				c.RequeueAfter(early.After)
			}
		}
	}
}

// writeChild brings one child up to date and returns it as it is now. It calls waits before it may wait for an answer.
func (c *childWriter) writeChild(ctx context.Context, w *write, waits func()) (live *unstructured.Unstructured, err error) {
	kind, ok := c.op.Children[w.object.GroupVersionKind()]
	if !ok {
		return nil, &plan.MissingKindError{GVK: w.object.GroupVersionKind()}
	}
	if !c.op.Identity.IsZero() {
		waits() // the check may ask the API server
	}
	// A rule that may not read the child must not learn how it differs. Whether the rule may write it, the API server
	// decides.
	if err := c.readGate(ctx, c.op)(kind.GVR, w.object.GetNamespace(), w.object.GetName()); err != nil {
		return nil, err
	}
	known := c.Monitors.Known(c.op.ChildKey(kind.GVR), w.object.GetNamespace(), w.object.GetName())
	if c.needsNoRead(ctx, w, known) {
		w.before = c.childAsRead(kind.GVR, known)
		return w.before, nil
	}
	unseen, whole := known == nil, known.IsWhole()
	if whole {
		live = known.Shared()
	} else {
		live = known.Head()
	}
	if err := c.chooseBefore(ctx, kind, w, live, waits); err != nil || w.repairs && w.before == nil {
		return nil, err
	}
	live = w.before
	c.carryRecreation(w.object, live)
	if c.isUnchanged(ctx, w, live) {
		return live, nil
	}
	waits()
	defer c.Begin(w.object)()
	child, err := c.prepareChild(ctx, w)
	if err != nil {
		return nil, err
	}
	if !whole && !w.recreation.IsDue() && c.Writer.Needless(ctx, child, live) {
		return live, c.noteConflict(w, child, apply.Result{Live: live})
	}
	if err := c.checkConflict(w, child, live); err != nil {
		return live, err
	}
	if !whole {
		if live, err = c.Writer.Server.Reread(ctx, kind.GVR, live); err != nil {
			return nil, err
		}
		w.before = live
	}
	if child.RestoresController(live) {
		if err := c.checkParent(ctx); err != nil {
			return nil, err
		}
	}
	result, err := c.write(ctx, kind, child, w)
	if err != nil {
		return nil, err
	}
	w.unseen = unseen && result.Action != apply.ActionCreated
	if result.Action != apply.ActionNone {
		c.Observe(c.op.ChildKey(kind.GVR), result.Live)
	}
	return result.Live, c.noteConflict(w, child, result)
}

// chooseBefore sets the object that is to be updated, of which an informer shows live; nil to create one. A child that is
// repaired and was deleted meanwhile is created only once its dependencies are ready.
func (c *childWriter) chooseBefore(ctx context.Context, kind restmapping.Kind, w *write, live *unstructured.Unstructured, waits func()) (err error) {
	if live == nil && c.memory.Conflicts.IsRepeated(w.id) {
		waits() // somebody may keep removing its mark, so that the informer does not show it
		if live, err = c.readChild(ctx, kind.GVR, w.object); err != nil {
			return err
		}
	}
	w.before = live
	if w.repairs && live == nil {
		return nil
	}
	return c.reader.checkSeen(kind.GVR, w.id, live)
}

// needsNoRead reports whether a child is up to date without being read: it is rendered as when it was last in sync, and
// still has that resourceVersion.
func (c *childWriter) needsNoRead(ctx context.Context, w *write, known *wire.Object) bool {
	return !c.mayChange(w) && c.Writer.UnchangedIn(ctx, w.object, w.owner, w.controller, w.policy, known.UID(), known.ResourceVersion())
}

// isUnchanged is needsNoRead for a child that was read, in any version.
func (c *childWriter) isUnchanged(ctx context.Context, w *write, live *unstructured.Unstructured) bool {
	return !c.mayChange(w) && c.Writer.Unchanged(ctx, w.object, w.owner, w.controller, w.policy, live)
}

// mayChange reports whether a child that is rendered as before may have to be written nevertheless.
func (c *childWriter) mayChange(w *write) bool {
	return w.recreation.IsDue() || c.memory.Conflicts.IsKnown(w.id)
}

// writeInPlace creates a child, or updates the existing one.
func (c *childWriter) writeInPlace(ctx context.Context, kind restmapping.Kind, child *apply.Child, w *write) (apply.Result, error) {
	write := c.Writer.Sync
	guarded := w.guarded && (w.before == nil || !c.Marks.Owns(w.before, c.op.ID, c.parent.GetUID()))
	if guarded || w.before == nil && c.op.ReadsObserved.Load() {
		// If it exists nevertheless, it gets its mark and nothing else: what is rendered may follow from its absence.
		write = c.Writer.Ensure
	}
	result, err := write(ctx, kind.GVR, child, w.before)
	if untied, ok := errors.AsType[*refusal.OwnerReferenceLostError](err); ok {
		if err := c.checkParent(ctx); err != nil {
			return apply.Result{}, err
		}
		result, err = write(ctx, kind.GVR, child, untied.Live)
	}
	if taken, ok := errors.AsType[*refusal.NameConflictError](err); ok && (taken.Returns || c.op.Adopters[w.node]) {
		return c.takeOver(ctx, kind, child, taken, w.guarded)
	}
	return result, err
}

// keepChild leaves the content of a child as it is, but restores what marks it as the parent's. Without that, it would
// neither be found again nor be deleted with the parent.
func (c *childWriter) keepChild(ctx context.Context, w *write) (*unstructured.Unstructured, error) {
	defer c.Begin(w.object)()
	kind := c.op.Children[w.object.GroupVersionKind()]
	if w.controller != nil && !mark.RefersTo(w.before, w.controller.UID) {
		if err := c.checkParent(ctx); err != nil {
			return nil, err
		}
	}
	result, err := c.Writer.Claim(ctx, kind.GVR, w.before, w.owner, w.controller)
	if err != nil {
		return nil, err
	}
	if result.Action != apply.ActionNone {
		c.Observe(c.op.ChildKey(kind.GVR), result.Live)
	}
	return result.Live, nil
}

// checkParent reads the parent from the API server before an owner reference to it is restored on an existing child.
// While a parent is deleted with orphaning, Kubernetes removes the references; if one were restored, the child would be
// garbage collected.
func (c *childWriter) checkParent(ctx context.Context) error {
	parent, err := c.getParent(ctx, c.op, c.key)
	if err != nil {
		return err
	}
	if parent == nil || parent.GetUID() != c.parent.GetUID() || (parent.GetDeletionTimestamp() != nil && !c.finalizing) {
		return errParentDeleted
	}
	return nil
}

// checkConflict returns an error if a child must not be written now, because others keep changing its fields back.
func (c *childWriter) checkConflict(w *write, child *apply.Child, live *unstructured.Unstructured) error {
	conflicts := &c.memory.Conflicts
	if live == nil || !conflicts.IsKnown(w.id) ||
		!conflicts.Suppress(w.id, child.Content(), child.Lost(live), c.started, c.RetryMax) {
		return nil
	}
	return c.conflict(w, child)
}

// noteConflict counts the fields that a write took back from others. It returns an error if a child is up to date but
// some of its fields are still in conflict.
func (c *childWriter) noteConflict(w *write, child *apply.Child, result apply.Result) error {
	c.memory.Conflicts.Wrote(w.id, child.Content(), result.Lost, c.started)
	return c.conflict(w, child)
}

// conflict returns the error of a child with fields in conflict; nil for any other child.
func (c *childWriter) conflict(w *write, child *apply.Child) error {
	conflict := c.memory.Conflicts.Of(w.id, child.Content(), c.started)
	if len(conflict.Fields) == 0 {
		return nil
	}
	return &conditions.FieldConflictError{Conflict: conflict, Object: child.Ref, NameOf: func(manager string) string { return c.Running.ManagerFor(c.op, manager) }}
}

// prepare decides for each child whether it has an owner reference, and how it is written. Children without one need
// the finalizer on the parent; if it cannot be added, they are not written.
func (c *childWriter) prepare(ctx context.Context, writes []*write) {
	var loose []*write
	for _, w := range writes {
		w.owner = c.op.Owner(c.parent, w.node)
		w.owner.Retain = ending.RetainOf(c.evaluation.Ending(w.object))
		w.policy = c.policyOf(w.node, w.object)
		for _, names := range w.fresh {
			w.policy.New = append(w.policy.New, fieldset.PathOf(names))
		}
		if c.op.CanOwn(c.parent, w.object) && !c.endings.MayKeep(w.node) {
			w.controller = c.op.ControllerRef(c.parent)
		} else {
			w.owner.Tracked = true
			loose = append(loose, w)
		}
	}
	if len(loose) == 0 {
		return
	}
	if err := c.finalizer.add(ctx); err != nil {
		for _, w := range loose {
			w.err = err
		}
	}
}

// awaitNamespace requeues the parent when the namespace of a child is created, if it does not exist or is being
// deleted. Namespaces are watched only while a parent waits for one. If Kanon may not watch them, the child is retried
// with growing pauses. It does not wait for the parent's own namespace: the parent is deleted with it.
func (c *childWriter) awaitNamespace(w *write, of conditions.Problem) conditions.Problem {
	name := w.object.GetNamespace()
	c.namespaceEnds = c.namespaceEnds || name == c.key.Parent.Namespace && conditions.IsTerminatingNamespace(w.err)
	if name == c.key.Parent.Namespace || of.Reason != conditions.ReasonNamespaceMissing && !conditions.IsTerminatingNamespace(w.err) {
		return of
	}
	c.reader.follow(readers.Subject{Informer: plan.AllNamespaces, Name: name, Borrowed: true}, labels.Everything())
	// The namespace may have been created, and its event processed, before the parent began to follow it.
	live, exists := c.Monitors.Head(plan.AllNamespaces, "", name)
	of.Elsewhere = c.Monitors.HasSynced(plan.AllNamespaces) && (!exists || live.GetDeletionTimestamp() != nil)
	return of
}
