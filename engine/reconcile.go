package engine

import (
	"context"
	"fmt"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/rules"
)

// reconcile brings what one rule makes of one parent up to date: it finds the
// parent, evaluates the rule, writes children node by node, prunes, and writes
// the status.
func (e *Engine) reconcile(ctx context.Context, k key) (verdict, error) {
	op := e.running.load().byID[k.rule]
	if op == nil || !e.ready(op) {
		return waiting, nil // its start wakes every parent
	}
	parent, err := e.findParent(ctx, op, k)
	if err != nil {
		return again, err
	}
	if parent == nil {
		e.notices.forget(k)
		return settled, nil
	}
	if parent.GetDeletionTimestamp() != nil {
		// The garbage collector takes the children; a write now could undo
		// what an orphaning deletion is about to do.
		e.notices.forget(k)
		return settled, nil
	}
	p := &pass{
		Engine: e, op: op, key: k, parent: parent,
		desired:    make(map[identity]bool),
		evaluation: op.program.Evaluate(ctx, rules.Input{Parent: parent, Now: e.options.Clock.Now()}),
	}
	return p.run(ctx)
}

// pass is one reconcile in progress: what is known of the parent, and what
// came of it so far.
type pass struct {
	*Engine

	op         *operator
	key        key
	parent     *unstructured.Unstructured
	evaluation *rules.Evaluation
	// desired has every child that the rule rendered in this pass.
	desired map[identity]bool
	// problems are the writes that did not succeed, in the order of the nodes.
	problems []problem
	outcome  rules.Outcome
}

// identity is what makes a child one and the same: an object under two
// apiVersions is one object.
type identity struct {
	schema.GroupKind
	types.NamespacedName
}

func identityOf(obj *unstructured.Unstructured) identity {
	return identity{
		GroupKind:      obj.GroupVersionKind().GroupKind(),
		NamespacedName: types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()},
	}
}

func (p *pass) run(ctx context.Context) (verdict, error) {
	switch p.op.selects(p.parent, p.namespaceLabels) {
	case undecided:
		return waiting, nil // the Namespace's event decides
	case unselected:
		return p.release(ctx)
	case selected:
	}
	defer p.wakeInTime()
	matches, err := p.evaluation.Matches()
	if err != nil {
		p.problems = append(p.problems, problemOfPredicate(err))
		said := p.evaluation.Outcome()
		p.outcome.Status, p.outcome.StatusHeld = said.Status, said.StatusHeld // what it said stays
		return p.conclude(ctx)
	}
	if !matches {
		return p.release(ctx)
	}
	for batch := p.evaluation.Next(); len(batch) > 0; batch = p.evaluation.Next() {
		p.writeBatch(ctx, batch)
	}
	p.outcome = p.evaluation.Outcome()
	p.prune(ctx)
	return p.conclude(ctx)
}

// wakeInTime has the key come back when something that was computed from now
// changes. Of several times for one key the queue keeps the first; one that has
// lost its reason costs an evaluation and nothing more.
func (p *pass) wakeInTime() {
	if at := p.evaluation.WakeAt(); !at.IsZero() {
		p.queue.AddAfter(p.key, at.Sub(p.options.Clock.Now()))
	}
}

func (p *pass) namespaceLabels(name string) (labels.Set, bool) {
	namespace, ok := p.monitors.Get(*p.op.namespaceKey, "", name)
	if !ok {
		return nil, false
	}
	return namespace.GetLabels(), true
}

// release takes back what the rule said in the status of a parent that it is
// not for, and prunes all that it made for it. The status comes first: a parent
// that has left the view is found by its children. Where it is refused, and not
// only late, the children need not wait for it.
func (p *pass) release(ctx context.Context) (verdict, error) {
	err := p.syncStatus(ctx, nil)
	if err == nil || problemOf(&write{err: err}).stalled {
		p.prune(ctx)
	}
	if err != nil {
		p.addStatusProblem(err)
	}
	p.notices.forget(p.key)
	return p.verdict()
}

// findParent is the parent of a key, or nil when there is nothing to do for it:
// when it is gone, or when it was never in the rule's view and has no children.
func (e *Engine) findParent(ctx context.Context, op *operator, k key) (*unstructured.Unstructured, error) {
	if parent, ok := e.monitors.Get(op.parentKey, k.parent.Namespace, k.parent.Name); ok {
		return parent, nil
	}
	whole := op.parentKey.Selector == "" && op.parentKey.Namespace == ""
	if whole || !e.hasChildren(op, k) {
		return nil, nil
	}
	// Out of the view is not gone: only the API server knows which it is.
	parent, err := e.getParent(ctx, op, k)
	if err != nil {
		return nil, err
	}
	if parent != nil && op.inView(parent) {
		return nil, nil // it is on its way into the view
	}
	return parent, nil
}

// getParent reads the parent of a key from the API server; nil when it is gone.
func (e *Engine) getParent(ctx context.Context, op *operator, k key) (*unstructured.Unstructured, error) {
	logr.FromContextOrDiscard(ctx).V(4).Info("reading the parent")
	parent, err := e.options.Client.Resource(op.parent.GVR).Namespace(k.parent.Namespace).Get(ctx, k.parent.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read %s %s: %w", op.parent.GVK.Kind, k.parent, err)
	}
	return parent, nil
}

// hasChildren tells whether a child of the key's rule and parent is in view.
func (e *Engine) hasChildren(op *operator, k key) bool {
	for kind := range op.childKinds() {
		if len(e.monitors.ByIndex(childKey(kind.GVR), indexParent, k.String())) > 0 {
			return true
		}
	}
	return false
}
