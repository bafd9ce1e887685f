package reconcile

import (
	"cmp"
	"context"
	"errors"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/engine/apply"
	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/engine/operator"
	"kanon.dev/kanon/engine/queue"
	"kanon.dev/kanon/engine/tenant"
	"kanon.dev/kanon/engine/watch"
	"kanon.dev/kanon/restmapping"
	"kanon.dev/kanon/rules/program"
)

// errParentDeleted reports that the parent turned out to be being deleted.
var errParentDeleted = conditions.Transient("the parent is being deleted")

// childWrite is one child of a batch: what to write, and the result.
type childWrite struct {
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
	// recreation says whether to recreate it. recreated is set if it was deleted for that, for the reason why, and pending
	// is why it is recreated later.
	recreation program.Recreation
	recreated  *conditions.Recreation
	why        string
	pending    error
	// keepsGenerated is true if the object that replaces it keeps the generated values. fresh are the fields that were
	// generated now, because before lacks them, and kept those whose values were copied from before.
	keepsGenerated bool
	fresh, kept    [][]string
	// adopted says that it became a child although it existed already, and from whom it was taken; else empty.
	adopted string
	// unseen is true if the object existed and the evaluation did not see it.
	unseen bool
}

// writeBatch writes the nodes that can be written now, their children in parallel, and gives the evaluation their live
// objects. problems are the failures, in the order of the nodes. pending is what follows later and blocks nothing.
func (p *pass) writeBatch(ctx context.Context, batch []program.Rendered) (problems, pending []conditions.Problem) {
	var writes []*childWrite
	for _, node := range batch {
		p.hideRendered(&node)
		for i, object := range node.Objects {
			w := &childWrite{
				node: node.Node, object: object, id: identity.Of(object), guarded: node.Guarded, repairs: node.Repairs(i),
				recreation: node.Recreation(i), keepsGenerated: node.KeepsGenerated(i), fresh: node.Fresh(i), kept: node.KeptFields(i),
			}
			p.rendered[w.id], writes = true, append(writes, w)
		}
	}
	written := len(writes)
	for _, node := range batch {
		p.noteBlockedForLater(&node)
		for _, object := range node.Kept {
			p.rendered[identity.Of(object)] = true
			if live, err := p.reader.Live(object); err == nil && live != nil {
				writes = append(writes, &childWrite{node: node.Node, object: object, id: identity.Of(object), before: live})
			}
		}
	}
	p.prepare(ctx, writes)
	inParallel(len(writes), p.r.parallelWrites(p.op), func(i int, waits func()) {
		w := writes[i]
		defer queue.ContainPanic(&w.err)
		switch {
		case w.err != nil:
		case i < written:
			w.live, w.err = p.writeChild(ctx, w, waits)
		default:
			waits()
			w.live, w.err = p.keepChild(ctx, w)
		}
	})
	p.noteWrites(batch, writes)
	pending = p.noteRecreations(writes)
	p.noteTimes(writes)

	for _, w := range writes[written:] {
		if w.err != nil {
			problems = append(problems, conditions.OfChild(w.node, w.err))
		}
	}
	for _, node := range batch {
		live := make([]*unstructured.Unstructured, len(node.Objects))
		for i := range node.Objects {
			w := writes[0]
			writes = writes[1:]
			live[i] = w.live
			p.reader.unseen, p.missed = p.reader.unseen || w.unseen, p.missed || w.unseen
			if w.err != nil {
				p.evaluation.Delay(node.Node, delayOf(w.err))
				problems = append(problems, p.awaitNamespace(w, conditions.OfChild(w.node, w.err)))
			}
		}
		p.evaluation.Applied(node.Node, live)
	}
	return problems, pending
}

// noteWrites keeps the writes of a batch for Observed.
func (p *pass) noteWrites(batch []program.Rendered, writes []*childWrite) {
	if p.r.Observe == nil {
		return
	}
	p.nodes = append(p.nodes, batch...)
	for _, w := range writes {
		p.writes = append(p.writes, Write{
			Node: w.node, Object: w.object, Before: w.before, Live: w.live, Policy: w.policy, Err: cmp.Or(w.err, w.pending),
			Recreated: w.why, Adopted: w.adopted,
		})
	}
}

// noteTimes requeues the parent for when a child that could not be written can be tried again.
func (p *pass) noteTimes(writes []*childWrite) {
	for _, w := range writes {
		for _, err := range []error{w.err, w.pending} {
			if conflict, ok := errors.AsType[*conditions.FieldConflictError](err); ok {
				p.requeueAfter(conflict.After())
			}
			if _, denied := errors.AsType[*tenant.DeniedError](err); denied {
				p.requeueAfter(tenant.Lifetime)
			}
			if early, ok := errors.AsType[*conditions.RecreatedRecentlyError](err); ok {
				p.requeueAfter(early.After)
			}
			if lost, ok := errors.AsType[*conditions.LostChildError](err); ok {
				p.requeueAfter(lost.After)
			}
		}
	}
}

// writeChild brings one child up to date and returns it as it is now. It calls waits before it may wait for an answer.
func (p *pass) writeChild(ctx context.Context, w *childWrite, waits func()) (live *unstructured.Unstructured, err error) {
	kind, ok := p.op.Children[w.object.GroupVersionKind()]
	if !ok {
		return nil, &operator.MissingKindError{GVK: w.object.GroupVersionKind()}
	}
	if !p.op.Identity.IsZero() {
		waits() // the check may ask the API server
	}
	// A rule that may not read the child must not learn how it differs. Whether the rule may write it, the API server
	// decides.
	if err := p.r.readGate(ctx, p.op)(kind.GVR, w.object.GetNamespace(), w.object.GetName()); err != nil {
		return nil, err
	}
	known := p.r.Monitors.Known(p.op.ChildKey(kind.GVR), w.object.GetNamespace(), w.object.GetName())
	wanted, seen := w.wanted(kind.GVR), apply.Seen{UID: known.UID(), Version: known.ResourceVersion()}
	if !p.mayChange(w) && p.r.Writer.Compare(ctx, wanted, seen) == apply.InSync {
		w.before = p.childAsRead(kind.GVR, known) // without being decoded
		return w.before, nil
	}
	if err := p.chooseBefore(ctx, kind, w, known.Shared(), waits); err != nil || w.repairs && w.before == nil {
		return nil, err
	}
	live = w.before
	p.carryRecreation(w.object, live)
	if live != nil && !p.mayChange(w) && p.r.Writer.Compare(ctx, wanted, apply.SeenAs(live)) == apply.InSync {
		return live, nil
	}
	waits()
	if err := p.checkLost(ctx, w); err != nil {
		return nil, err
	}
	defer p.beginWrite(w.object)()
	child, err := p.prepareChild(ctx, w, wanted)
	if err != nil {
		return nil, err
	}
	if err := p.checkConflict(w, child, live); err != nil {
		return live, err
	}
	if child.RestoresController(live) {
		if err := p.checkParent(ctx); err != nil {
			return nil, err
		}
	}
	result, err := p.writeOrRecreate(ctx, kind, child, w)
	if err != nil {
		return nil, err
	}
	w.unseen = known == nil && result.Action != apply.ActionCreated
	switch {
	case result.Action != apply.ActionNone:
		p.observe(p.op.ChildKey(kind.GVR), result.Live)
	case w.unseen: // it was found by a request, so that its event may count as known before it is ever pruned
		p.r.Monitors.Observe(p.op.ChildKey(kind.GVR), result.Live)
	}
	if result.Action == apply.ActionCreated {
		p.r.creations.add(p.key, w.id, p.started)
	}
	return result.Live, p.noteConflict(w, child, result)
}

// chooseBefore sets the object that is to be updated, of which an informer shows live; nil to create one. A child that is
// repaired and was deleted meanwhile is created only once its dependencies are ready.
func (p *pass) chooseBefore(ctx context.Context, kind restmapping.Kind, w *childWrite, live *unstructured.Unstructured, waits func()) (err error) {
	if live == nil && p.memory.Conflicts.IsRepeated(w.id) {
		waits() // somebody may keep removing its mark, so that the informer does not show it
		if live, err = p.r.readChild(ctx, kind.GVR, w.object); err != nil {
			return err
		}
	}
	w.before = live
	if w.repairs && live == nil {
		return nil
	}
	return p.reader.checkSeen(kind.GVR, w.id, live)
}

// wanted returns the child as it should be.
func (w *childWrite) wanted(gvr schema.GroupVersionResource) apply.Wanted {
	return apply.Wanted{GVR: gvr, Object: w.object, Owner: w.owner, Controller: w.controller, Policy: w.policy}
}

// mayChange reports whether a child that is rendered as before may have to be written nevertheless.
func (p *pass) mayChange(w *childWrite) bool {
	return w.recreation.IsDue() || p.memory.Conflicts.IsKnown(w.id)
}

// writeInPlace creates a child, or updates the existing one.
func (p *pass) writeInPlace(ctx context.Context, child *apply.Child, w *childWrite) (apply.Result, error) {
	send := p.r.Writer.Sync
	guarded := w.guarded && (w.before == nil || !p.r.Marks.Owns(w.before, p.op.ID, p.parent.GetUID()))
	if guarded || w.before == nil && p.op.ReadsObserved.Load() {
		// If it exists nevertheless, it gets its mark and nothing else: what is rendered may follow from its absence.
		send = p.r.Writer.Ensure
	}
	result, err := send(ctx, child, w.before)
	if untied, ok := errors.AsType[*apply.OwnerReferenceLostError](err); ok {
		if err := p.checkParent(ctx); err != nil {
			return apply.Result{}, err
		}
		result, err = send(ctx, child, untied.Live)
	}
	if taken, ok := errors.AsType[*apply.NameConflictError](err); ok && (taken.Returns || p.op.Adopters[w.node]) {
		return p.takeOver(ctx, child, taken, w)
	}
	return result, err
}

// keepChild leaves the content of a child as it is, but restores what marks it as the parent's. Without that, it would
// neither be found again nor be deleted with the parent.
func (p *pass) keepChild(ctx context.Context, w *childWrite) (*unstructured.Unstructured, error) {
	defer p.beginWrite(w.object)()
	kind := p.op.Children[w.object.GroupVersionKind()]
	if w.controller != nil && !mark.RefersTo(w.before, w.controller.UID) {
		if err := p.checkParent(ctx); err != nil {
			return nil, err
		}
	}
	result, err := p.r.Writer.Claim(ctx, w.wanted(kind.GVR), w.before)
	if err != nil {
		return nil, err
	}
	if result.Action != apply.ActionNone {
		p.observe(p.op.ChildKey(kind.GVR), result.Live)
	}
	return result.Live, nil
}

// checkParent reads the parent from the API server before an owner reference to it is restored on an existing child.
// While a parent is deleted with orphaning, Kubernetes removes the references; if one were restored, the child would be
// garbage collected.
func (p *pass) checkParent(ctx context.Context) error {
	parent, err := p.r.getParent(ctx, p.op, p.key)
	if err != nil {
		return err
	}
	if parent == nil || parent.GetUID() != p.parent.GetUID() || (parent.GetDeletionTimestamp() != nil && !p.finalizing) {
		return errParentDeleted
	}
	return nil
}

// checkConflict returns an error if a child must not be written now, because others keep changing its fields back.
func (p *pass) checkConflict(w *childWrite, child *apply.Child, live *unstructured.Unstructured) error {
	conflicts := &p.memory.Conflicts
	if live == nil || !conflicts.IsKnown(w.id) ||
		!conflicts.Suppress(w.id, child.Content(), child.Lost(live), p.started, p.r.RetryMax) {
		return nil
	}
	return p.conflict(w, child)
}

// noteConflict counts the fields that a write took back from others. It returns an error if a child is up to date but
// some of its fields are still in conflict.
func (p *pass) noteConflict(w *childWrite, child *apply.Child, result apply.Result) error {
	p.memory.Conflicts.Wrote(w.id, child.Content(), result.Lost, p.started)
	return p.conflict(w, child)
}

// conflict returns the error of a child with fields in conflict; nil for any other child.
func (p *pass) conflict(w *childWrite, child *apply.Child) error {
	conflict := p.memory.Conflicts.Of(w.id, child.Content(), p.started)
	if len(conflict.Fields) == 0 {
		return nil
	}
	return &conditions.FieldConflictError{Conflict: conflict, Object: child.Ref, NameOf: func(manager string) string { return p.r.Running.ManagerFor(p.op, manager) }}
}

// prepare decides for each child whether it has an owner reference, and how it is written. Children without one need
// the finalizer on the parent; if it cannot be added, they are not written.
func (p *pass) prepare(ctx context.Context, writes []*childWrite) {
	var loose []*childWrite
	for _, w := range writes {
		w.owner = p.op.Owner(p.parent, w.node)
		w.owner.Retain = operator.RetainOf(p.evaluation.Ending(w.object))
		w.policy = p.policyOf(w.node, w.object)
		for _, names := range w.fresh {
			w.policy.New = append(w.policy.New, fieldset.PathOf(names))
		}
		for _, names := range w.kept {
			w.policy.Kept = append(w.policy.Kept, fieldset.PathOf(names))
		}
		if operator.CanOwn(p.op.Program, p.parent, w.object) && !p.endings().MayKeep(w.node) {
			w.controller = p.op.ControllerRef(p.parent)
		} else {
			w.owner.Tracked = true
			loose = append(loose, w)
		}
	}
	if len(loose) == 0 {
		return
	}
	if err := p.addFinalizer(ctx); err != nil {
		for _, w := range loose {
			w.err = err
		}
	}
}

// policyOf returns how to write an object that a node rendered in this reconcile.
func (p *pass) policyOf(node string, object *unstructured.Unstructured) fieldset.Policy {
	policy := p.op.Policies[node]
	if now := p.evaluation.Ignores(object); len(now) > 0 {
		policy.Ignore, policy.Relinquished = slices.Concat(policy.Ignore, now), now
	}
	return policy
}

// awaitNamespace requeues the parent when the namespace of a child is created, if it does not exist or is being
// deleted. Namespaces are watched only while a parent waits for one. If Kanon may not watch them, the child is retried
// with growing pauses. It does not wait for the parent's own namespace: the parent is deleted with it.
func (p *pass) awaitNamespace(w *childWrite, of conditions.Problem) conditions.Problem {
	name := w.object.GetNamespace()
	p.namespaceEnds = p.namespaceEnds || name == p.key.Parent.Namespace && conditions.IsTerminatingNamespace(w.err)
	if name == p.key.Parent.Namespace || of.Reason != conditions.ReasonNamespaceMissing && !conditions.IsTerminatingNamespace(w.err) {
		return of
	}
	p.reader.follow(watch.Subject{Informer: operator.AllNamespaces, Name: name, Borrowed: true}, labels.Everything())
	// The namespace may have been created, and its event processed, before the parent began to follow it.
	live, exists := p.r.Monitors.Head(operator.AllNamespaces, "", name)
	of.Elsewhere = p.r.Monitors.HasSynced(operator.AllNamespaces) && (!exists || live.GetDeletionTimestamp() != nil)
	return of
}
