package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/engine/apply"
	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/engine/pacing"
	"kanon.dev/kanon/restmapping"
	"kanon.dev/kanon/rules"
)

// errParentLeaving says that the parent turned out to be on its way out.
var errParentLeaving = conditions.Transient("the parent is being deleted")

// write is one child of a batch: what to write, and what came of it.
type write struct {
	node   string
	object *unstructured.Unstructured
	before *unstructured.Unstructured // as it was in memory, nil where it was not
	// owner is what it says of whom it belongs to, and policy how it is treated.
	owner  apply.Owner
	policy apply.Policy
	// controller is the owner reference that ties it to the parent; nil where it is
	// tracked by its labels.
	controller *metav1.OwnerReference
	live       *unstructured.Unstructured // nil when it is not known as it should be
	err        error
	// guarded is true for an object that must be left as it is if it is there
	// though nothing was known of it.
	guarded bool
	// renewal says whether it is to be made anew, recreated that it was deleted for
	// that, and pending why it will be later.
	renewal   rules.Renewal
	recreated *pacing.Backoff
	pending   error
	// fresh are the fields that were generated for it, because before lacks them.
	fresh [][]string
	// unseen is true where the object existed, and memory did not show it to the
	// evaluation.
	unseen bool
}

// writeBatch brings the nodes that can go now up to date, their children side
// by side, and tells the evaluation how they are.
func (p *pass) writeBatch(ctx context.Context, batch []rules.Rendered) {
	var writes []*write
	for _, node := range batch {
		for i, object := range node.Objects {
			p.desired[identity.Of(object)] = true
			writes = append(writes, &write{node: node.Node, object: object, guarded: node.Guarded, renewal: node.Renewal(i), fresh: node.Fresh(i)})
		}
	}
	written := len(writes)
	for _, node := range batch {
		p.noteHeldByRollout(node.Node, node.Held)
		for _, object := range node.Kept {
			p.desired[identity.Of(object)] = true
			if live, err := p.reader.Live(object); err == nil && live != nil {
				writes = append(writes, &write{node: node.Node, object: object, before: live})
			}
		}
	}
	p.tie(ctx, writes)
	sideBySide(len(writes), p.parallelWrites(), func(i int) {
		w := writes[i]
		defer containPanic(&w.err)
		defer p.begin(w.object)()
		switch {
		case w.err != nil:
		case i < written:
			w.live, w.err = p.writeChild(ctx, w)
		default:
			w.live, w.err = p.keepChild(ctx, w)
		}
	})
	p.noteRecreations(writes)
	p.noteTimes(writes)

	for _, w := range writes[written:] {
		if w.err != nil {
			p.problems = append(p.problems, conditions.OfWrite("child "+w.node, w.err))
		}
	}
	for _, node := range batch {
		live := make([]*unstructured.Unstructured, len(node.Objects))
		for i := range node.Objects {
			w := writes[0]
			writes = writes[1:]
			live[i] = w.live
			p.reader.inputs.Child(identity.Of(w.object), w.before)
			p.reader.unseen = p.reader.unseen || w.unseen
			if w.err != nil {
				p.problems = append(p.problems, p.redacted(p.awaitNamespace(w, conditions.OfWrite("child "+w.node, w.err))))
			}
		}
		p.evaluation.Applied(node.Node, live)
	}
}

// noteTimes has the parent reconciled again when it is time for what could not be written yet.
func (p *pass) noteTimes(writes []*write) {
	for _, w := range writes {
		for _, err := range []error{w.err, w.pending} {
			if conflict, ok := errors.AsType[*conflictError](err); ok {
				p.requeueAfter(conflict.after())
			}
			if early, ok := errors.AsType[*tooSoonError](err); ok {
				p.requeueAfter(early.after)
			}
		}
	}
}

// sideBySide calls do for each of n, limit of them at a time, and returns when all have returned. One of the limit is the
// caller's goroutine, which takes calls as all others do: a new one begins with a small stack, and growing it costs more than
// many a call.
func sideBySide(n, limit int, do func(i int)) {
	var next atomic.Int64
	work := func() {
		for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
			do(i)
		}
	}
	var others sync.WaitGroup
	for range min(n, limit) - 1 {
		others.Go(work)
	}
	work()
	others.Wait()
}

// parallelWrites is how many children are written at the same time. While so many
// parents of the rule wait that all workers will be busy with them, more requests under
// way do not get more done: all only take longer, also those for other rules.
func (p *pass) parallelWrites() int {
	if p.queue.Waiting(p.op.id) >= p.options.Workers {
		return 1
	}
	return p.options.ParallelWrites
}

// writeChild brings one child up to date and returns it as it is now.
func (p *pass) writeChild(ctx context.Context, w *write) (live *unstructured.Unstructured, err error) {
	object := w.object
	kind, ok := p.op.children[object.GroupVersionKind()]
	if !ok {
		return nil, &missingKindError{gvk: object.GroupVersionKind()}
	}
	known := p.monitors.Known(p.op.childKey(kind.GVR), object.GetNamespace(), object.GetName())
	var whole bool
	live, whole = known.Whole()
	unseen := live == nil && whole
	if !whole {
		live = known.Head()
	}
	if live == nil && p.memory.Conflicts.IsRepeated(identity.Of(object)) {
		// Somebody may keep taking its mark away, and so keep it out of view.
		if live, err = p.readChild(ctx, kind.GVR, object); err != nil {
			return nil, err
		}
	}
	w.before = live
	p.carryRecreation(object, live)
	if !w.isDue() && !p.memory.Conflicts.IsKnown(identity.Of(object)) &&
		p.writer.Unchanged(ctx, object, w.owner, w.controller, w.policy, live) {
		return live, nil
	}
	child, err := p.writer.Prepare(ctx, object, w.owner, w.controller, w.policy)
	if err != nil {
		return nil, err
	}
	if !whole && !w.isDue() && p.writer.Needless(ctx, child, live) {
		return live, p.noteConflict(child, apply.Result{Live: live})
	}
	if err := p.checkConflict(child, live); err != nil {
		return live, err
	}
	if !whole {
		if live, err = p.writer.Reread(ctx, kind.GVR, live); err != nil {
			return nil, err
		}
		w.before = live
	}
	if child.RestoresController(live) {
		if err := p.checkParent(ctx); err != nil {
			return nil, err
		}
	}
	result, err := p.write(ctx, kind, child, w)
	if err != nil {
		return nil, err
	}
	w.unseen = unseen && result.Action != apply.ActionCreated
	if result.Action != apply.ActionNone {
		p.observe(p.op.childKey(kind.GVR), result.Live)
	}
	return result.Live, p.noteConflict(child, result)
}

// readChild reads the object that has the name of a child; nil where there is none.
func (p *pass) readChild(ctx context.Context, gvr schema.GroupVersionResource, child *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	live, err := p.options.Client.Resource(gvr).Namespace(child.GetNamespace()).Get(ctx, child.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", apply.RefOf(child), err)
	}
	return live, nil
}

// writeInPlace makes a child, or changes the one that is there.
func (p *pass) writeInPlace(ctx context.Context, kind restmapping.Kind, child *apply.Child, w *write) (apply.Result, error) {
	write := p.writer.Sync
	guarded := w.guarded && (w.before == nil || !p.marks.Owns(w.before, p.op.id, p.parent.GetUID()))
	if guarded || w.before == nil && p.op.looksBack.Load() {
		// One that exists all the same gets its mark and nothing else: what is rendered may follow from its absence.
		write = p.writer.Ensure
	}
	result, err := write(ctx, kind.GVR, child, w.before)
	if untied, ok := errors.AsType[*apply.UntiedError](err); ok {
		if err := p.checkParent(ctx); err != nil {
			return apply.Result{}, err
		}
		result, err = write(ctx, kind.GVR, child, untied.Live)
	}
	var taken *apply.NameTakenError
	switch {
	case !errors.As(err, &taken):
		return result, err
	case taken.Returns:
		return p.takeBack(ctx, kind, child, taken, w.guarded)
	case p.op.adopters[w.node]:
		return p.adopt(ctx, kind, child, taken, w.guarded)
	default:
		return result, err
	}
}

// keepChild leaves the content of a child as it is, and sees to it that it stays
// known as the parent's: one that loses that would neither be found again nor go
// with the parent.
func (p *pass) keepChild(ctx context.Context, w *write) (*unstructured.Unstructured, error) {
	kind := p.op.children[w.object.GroupVersionKind()]
	if w.controller != nil && !apply.Refers(w.before, w.controller) {
		if err := p.checkParent(ctx); err != nil {
			return nil, err
		}
	}
	result, err := p.writer.Claim(ctx, kind.GVR, w.before, w.owner, w.controller)
	if err != nil {
		return nil, err
	}
	if result.Action != apply.ActionNone {
		p.observe(p.op.childKey(kind.GVR), result.Live)
	}
	return result.Live, nil
}

// checkParent reads the parent before an owner reference to it is restored on a
// child that is there: while a parent is deleted with orphaning, Kubernetes
// takes the references away, and one put back would have the child collected.
func (p *pass) checkParent(ctx context.Context) error {
	parent, err := p.getParent(ctx, p.op, p.key)
	if err != nil {
		return err
	}
	if parent == nil || parent.GetUID() != p.parent.GetUID() || (parent.GetDeletionTimestamp() != nil && !p.finalizing) {
		return errParentLeaving
	}
	return nil
}
