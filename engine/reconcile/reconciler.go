package reconcile

import (
	"context"
	"errors"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/feedback"
	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/engine/operator"
	"kanon.dev/kanon/engine/outcome"
	"kanon.dev/kanon/engine/pacing"
	"kanon.dev/kanon/engine/patching"
	"kanon.dev/kanon/engine/queue"
	"kanon.dev/kanon/engine/readers"
	"kanon.dev/kanon/engine/request"
	"kanon.dev/kanon/rules/program"
)

// Queue takes keys back, and counts the waiting keys of a rule.
type Queue interface {
	AddPatient(k queue.Key)
	Waiting(rule string) int
}

// Guard decides whether a revision of a rule may delete; see package guard.
type Guard interface {
	// Decide reports whether the objects may be deleted that the rule does not render for a parent. Call Doubt instead
	// if these objects are not known exactly: objects is then an upper bound. Call Excuse for a parent that no longer
	// exists or is being deleted.
	Decide(op *operator.Operator, parent queue.Key, objects []identity.ID) (may bool)
	Doubt(op *operator.Operator, parent queue.Key, objects []identity.ID) (may bool)
	Excuse(op *operator.Operator, parent queue.Key)
	// MayRecreate reports whether an object of a parent may be deleted to be recreated. If it may not, blocked is true
	// if it has to wait until somebody acts.
	MayRecreate(op *operator.Operator, parent queue.Key) (may, blocked bool)
	// MayCleanUp reports whether the removal of a rule may begin to delete.
	MayCleanUp(op *operator.Operator) bool
}

// Options are the dependencies and limits of a Reconciler.
type Options struct {
	Cluster

	Queue    Queue
	Guard    Guard
	Patches  *patching.Patches
	Readers  *readers.Index
	Feedback *feedback.Tracker
	// Removed is called when the last parent of a removed rule is cleaned up.
	Removed func(op *operator.Operator)
	// Memory bounds the memory of the values of all evaluations together.
	Memory program.Account
	// Workers is how many parents are reconciled at the same time. ParallelWrites is how many children of one parent
	// are written at the same time while fewer parents wait than there are workers.
	Workers, ParallelWrites int
	// RecreateLimits bounds the pauses of objects that are recreated repeatedly.
	RecreateLimits pacing.Limits
}

// Reconciler reconciles parents. It is safe for concurrent use, as long as each key is reconciled by one goroutine at a
// time.
type Reconciler struct {
	Options

	// memoryWaiters admits one key at a time to wait for memory, so that the other workers stay free for evaluations that
	// need little.
	memoryWaiters *queue.Semaphore[queue.Key]
}

// New makes a Reconciler.
func New(options Options) *Reconciler {
	options.longLists = make(chan struct{}, 1)
	return &Reconciler{Options: options, memoryWaiters: queue.NewSemaphore[queue.Key](1)}
}

// Reconcile brings everything that one rule defines for one parent up to date. The operator must be ready: its
// informers have synced.
func (r *Reconciler) Reconcile(ctx context.Context, op *operator.Operator, k queue.Key) outcome.Outcome {
	defer r.Patches.Reconciled(op, k)
	parent, err := r.findParent(ctx, op, k)
	if errors.Is(err, errNotRead) {
		return outcome.Outcome{Verdict: outcome.Waiting} // the informer's start enqueues every parent
	}
	if err != nil {
		r.Guard.Doubt(op, k, r.childrenOf(op, k))
		return outcome.Outcome{Verdict: outcome.Again, Err: err}
	}
	if ctx = withVerbosity(ctx, parent); parent != nil {
		logr.FromContextOrDiscard(ctx).V(4).Info("Reconciling", "resourceVersion", parent.GetResourceVersion())
	}
	if err := r.checkParentReads(ctx, op, parent); err != nil && !r.hasNothingToRemove(op, k, parent) {
		r.Guard.Doubt(op, k, r.childrenOf(op, k))
		r.Patches.ContributeUnknown(patching.Contributor{Op: op, Key: k, Parent: parent, Provenance: &feedback.Provenance{}})
		return r.unread(op, err)
	}
	if op.Removal != nil {
		return r.cleanUpRemoved(ctx, op, k, parent)
	}
	if parent == nil || parent.GetDeletionTimestamp() != nil {
		r.Guard.Excuse(op, k)
	}
	if parent == nil || (parent.GetDeletionTimestamp() != nil && !op.HasFinalizer(parent)) {
		// The garbage collector deletes the children of a parent that is being deleted. A write now could undo what an
		// orphaning deletion is about to do.
		r.forget(op, k)
		return outcome.Outcome{}
	}
	r.Parents.SetFinalizer(k, op.HasFinalizer(parent))
	if request.IsSuspended(parent) {
		r.Guard.Doubt(op, k, r.riskOf(op, k, parent))
		return outcome.Outcome{Verdict: r.skipSuspended(op, k, parent)}
	}
	if parent.GetDeletionTimestamp() != nil {
		return r.pass(ctx, r.deletionOf(op, k, parent), (*pass).cleanUp)
	}
	now := r.Now()
	remembered := r.Parents.Memory(k, parent.GetUID(), op.Program.Hash)
	requested := op.InView(parent) && remembered.Request(request.ReconcileAt(parent))
	if requested {
		r.Patches.Retry(op, k)
	}
	if wait := remembered.Schedule.Wait(now); wait > 0 {
		return outcome.Outcome{Verdict: outcome.Later, After: wait}
	}
	provenance, wait := r.Feedback.Begin(k, now, r.RetryMax)
	if wait > 0 {
		return outcome.Outcome{Verdict: outcome.Later, After: wait}
	}
	of := newSubject(op, k, parent, remembered, now)
	of.provenance = provenance
	out := r.pass(ctx, of, (*pass).reconcile)
	out.Requested = requested
	return out
}

// withVerbosity returns a context whose logger has the verbosity that the parent's annotation asks for.
func withVerbosity(ctx context.Context, parent *unstructured.Unstructured) context.Context {
	if parent == nil || request.VerbosityOf(parent) == 0 {
		return ctx
	}
	return logr.NewContext(ctx, request.LogAt(logr.FromContextOrDiscard(ctx), request.VerbosityOf(parent)))
}

// deletionOf returns the subject of a reconcile of a parent that is being deleted.
func (r *Reconciler) deletionOf(op *operator.Operator, k queue.Key, parent *unstructured.Unstructured) *subject {
	return newSubject(op, k, parent, r.Parents.Memory(k, parent.GetUID(), op.Program.Hash), r.Now())
}

// errNotRead reports that the informer of the parents has not synced yet.
var errNotRead = conditions.Transient("it is being read for the first time")

// findParent returns the parent of a key, or nil if there is nothing to do for it: it does not exist, or the informer
// does not show it and nothing of the rule is left for it. The error is errNotRead while the informer of the parents
// syncs again.
func (r *Reconciler) findParent(ctx context.Context, op *operator.Operator, k queue.Key) (*unstructured.Unstructured, error) {
	view := r.Monitors.View(op.ParentKey)
	if view == nil {
		return nil, errNotRead
	}
	if parent, ok := view.Get(k.Parent.Namespace, k.Parent.Name); ok {
		return parent, nil
	}
	if known := r.Parents.Get(k); !op.IsNarrow() || (!r.hasChildren(op, k) && !known.HasFinalizer && !known.Unselected) {
		return nil, nil
	}
	// The parent may exist although the informer does not show it. Only the API server knows.
	parent, err := r.getParent(ctx, op, k)
	if err != nil {
		return nil, err
	}
	if parent != nil && op.InView(parent) {
		return nil, nil // the informer is about to show it
	}
	return parent, nil
}

// forget drops everything that is known of a parent, because a reconcile by this operator found that the parent no
// longer exists or that the rule does not select it.
func (r *Reconciler) forget(op *operator.Operator, k queue.Key) {
	r.Patches.Drop(op, k)
	r.Parents.Forget(k)
	r.Readers.Keep(k, nil)
}

// parallelWrites returns how many children of a parent are written at the same time. It is 1 while enough parents of
// the rule wait to keep all workers busy: more requests at a time would then finish nothing sooner, and would slow down
// other rules too.
func (r *Reconciler) parallelWrites(op *operator.Operator) int {
	if r.Queue.Waiting(op.ID) >= r.Workers {
		return 1
	}
	return r.ParallelWrites
}
