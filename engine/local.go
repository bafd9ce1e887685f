package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/apply"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/engine/keyring"
	"kanon.dev/kanon/engine/operator"
	"kanon.dev/kanon/engine/queue"
	"kanon.dev/kanon/engine/reconcile"
	"kanon.dev/kanon/engine/tenant"
	"kanon.dev/kanon/engine/watch"
	"kanon.dev/kanon/rules/program"
)

// Local is an engine that runs one rule on an API in memory, one reconcile at a time, when its caller says so. It starts
// no goroutine. Everything that an API server, an informer or a user has to confirm counts as confirmed: the rule's
// record, the rights of its ServiceAccount, and deletions that the prune guard would block. Nothing pauses but what the
// rule itself asks for.
type Local struct {
	e     *Engine
	op    *operator.Operator
	queue queue.Manual
}

// LocalOptions are what a Local needs besides Options. Of those, it uses Client, Mapper, Schemas, Recorder, Namespace and
// Clock.
type LocalOptions struct {
	Options
	Source  watch.Source
	Program *program.Program
	// Keys seal the marks of children. Marks of others count without a proof.
	Keys *keyring.Keyring
	// Former are the kinds of children that the rule had.
	Former []schema.GroupVersionKind
	// Observe is called at the end of each reconcile of a parent.
	Observe func(reconcile.Observed)
}

// NewLocal makes a Local. Its parents are enqueued by Start.
func NewLocal(o LocalOptions) (*Local, error) {
	o.ParallelWrites = 1
	e, err := New(o.Options)
	if err != nil {
		return nil, err
	}
	name := types.NamespacedName{Namespace: o.Program.Namespace, Name: o.Program.Name}
	if name.Namespace == "" {
		name.Namespace = e.options.Namespace
	}
	id := mark.RuleID(e.options.Namespace, name.Namespace, name.Name)
	planned, err := operator.New(id, name, o.Program, o.Mapper, operator.Former(o.Former))
	if err != nil {
		return nil, err
	}
	// An operator without a start has run since before every parent, so all Events of new parents are due.
	l := &Local{e: e, op: &operator.Operator{Plan: planned.Plan}, queue: queue.NewManual(o.Clock.Now)}
	e.options.RetryMax, e.options.RecreateBase = 0, 0
	e.marks = &mark.Marks{Keys: func() *keyring.Keyring { return o.Keys }, Trusting: true}
	e.makeWriters()
	e.reads = tenant.NewReads(allowing{}, o.Clock)
	e.monitors = watch.New(e.monitorOptions(o.Source))
	e.readers = watch.NewReaders(e.monitors)
	e.queue = l.queue.Queue
	e.patches = e.newPatches()
	e.reconciler = e.newReconciler()
	e.reconciler.Guard, e.reconciler.Observe, e.reconciler.Random = permitting{}, o.Observe, nil
	e.reconciler.Unpaused = true
	return l, nil
}

// Marked returns an object as if the rule had applied it as it is, as a child of a parent.
func (l *Local) Marked(ctx context.Context, parent *unstructured.Unstructured, node string, object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	wanted := apply.Wanted{
		GVR: l.op.Nodes[node].GVR, Object: object, Owner: l.op.Owner(parent, node), Controller: l.op.ControllerRef(parent), Policy: l.op.Policies[node],
	}
	child, err := l.e.writer.Prepare(ctx, wanted)
	if err != nil {
		return nil, err
	}
	marked := object.DeepCopy()
	metadata := mark.EnsureMap(marked.Object, "metadata")
	for field, name := range map[string]string{"labels": mark.LabelRule, "annotations": mark.AnnotationApplied} {
		mark.EnsureMap(metadata, field)[name], _ = mark.MetadataString(child.Object, field, name)
	}
	return marked, nil
}

// Key returns the key of a parent.
func (l *Local) Key(parent types.NamespacedName) queue.Key {
	return queue.Key{Rule: l.op.ID, Parent: parent}
}

// Plan returns the rule's operator.
func (l *Local) Plan() *operator.Plan { return l.op.Plan }

// Start has the rule run, and enqueues its parents, or only one of them.
func (l *Local) Start(only *unstructured.Unstructured) {
	l.e.running.Store(operator.NewSet([]*operator.Operator{l.op}))
	l.op.HasRecord.Store(true)
	l.e.patches.Expect(l.op)
	l.e.monitors.Watch(l.op.ID, l.op.Informers()...)
	l.op.Begun.Store(true)
	if only != nil {
		l.e.patches.BeginFor(l.op, only)
		l.queue.Add(keyOf(l.op.ID, only))
		return
	}
	l.e.patches.Begin(l.op, nil)
	for k := range l.e.keysOf(l.op) {
		l.queue.AddPatient(k)
	}
}

// Deliver reports a change of an object in the Source.
func (l *Local) Deliver(resource schema.GroupResource, before, after *unstructured.Unstructured) {
	l.e.monitors.Deliver(resource, before, after)
}

// Step reconciles the next key that is due. ok is false if there is none. The error reports a panic.
func (l *Local) Step(ctx context.Context) (k queue.Key, ok bool, err error) {
	k, ok = l.queue.Next()
	if !ok {
		return k, false, nil
	}
	defer l.queue.Done(k)
	out := l.e.reconcileSafely(ctx, k)
	l.e.requeue(k, out)
	if panicked, ok := errors.AsType[*queue.PanicError](out.Err); ok {
		err = fmt.Errorf("%w\n%s", panicked, panicked.Stack)
	}
	return k, true, err
}

// Enqueue has a key reconciled again.
func (l *Local) Enqueue(k queue.Key) { l.queue.Add(k) }

// Due returns when the next key is due that waits for a time; zero if none does.
func (l *Local) Due() time.Time { return l.queue.Due() }

// Retry has the keys reconciled again whose last reconcile failed, and reports whether there are any.
func (l *Local) Retry() bool { return l.queue.Retry() }

// permitting is a guard that blocks nothing.
type permitting struct{}

func (permitting) Decide(*operator.Operator, queue.Key, []identity.ID) bool      { return true }
func (permitting) Doubt(*operator.Operator, queue.Key, []identity.ID) bool       { return true }
func (permitting) Excuse(*operator.Operator, queue.Key)                          {}
func (permitting) MayRecreate(*operator.Operator, queue.Key) (may, blocked bool) { return true, false }
func (permitting) MayCleanUp(*operator.Operator) bool                            { return true }

// allowing is a Reviewer that allows everything.
type allowing struct{}

func (allowing) Create(_ context.Context, review *authorizationv1.SubjectAccessReview, _ metav1.CreateOptions) (*authorizationv1.SubjectAccessReview, error) {
	review.Status.Allowed = true
	return review, nil
}
