package reconcile

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/lru"

	"kanon.dev/kanon/engine/apply"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/feedback"
	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/engine/operator"
	"kanon.dev/kanon/engine/patching"
	"kanon.dev/kanon/engine/queue"
	"kanon.dev/kanon/engine/tenant"
	"kanon.dev/kanon/engine/watch"
	"kanon.dev/kanon/restmapping"
	"kanon.dev/kanon/restmapping/openapi"
	"kanon.dev/kanon/rules/program"
)

// Guard decides whether a revision of a rule may delete; see package guard.
type Guard interface {
	// Decide reports whether the objects may be deleted that the rule does not render for a parent. Call Doubt instead
	// if these objects are not known exactly: objects is then an upper bound. A parent that no longer exists or is being
	// deleted loses nothing to the rule.
	Decide(op *operator.Operator, parent queue.Key, objects []identity.ID) (may bool)
	Doubt(op *operator.Operator, parent queue.Key, objects []identity.ID) (may bool)
	// MayRecreate reports whether an object of a parent may be deleted to be recreated. If it may not, blocked is true
	// if it has to wait until somebody acts.
	MayRecreate(op *operator.Operator, parent queue.Key) (may, blocked bool)
	// MayCleanUp reports whether the removal of a rule may begin to delete.
	MayCleanUp(op *operator.Operator) bool
}

// Options are the dependencies and limits of a Reconciler.
type Options struct {
	Mapper   *restmapping.Mapper
	Schemas  *openapi.Published
	Monitors *watch.Monitors
	Running  *operator.Running
	Queue    *queue.Queue
	Readers  *watch.Readers
	Parents  *conditions.Store
	Feedback *feedback.Tracker
	Guard    Guard
	Patches  *patching.Patches
	Marks    *mark.Marks
	// Reads checks what a rule with a ServiceAccount may read and emit.
	Reads *tenant.Reads
	// Client reads single objects, deletes parents, and creates the answers to requests. Objects lists objects without
	// their content.
	Client  dynamic.Interface
	Objects watch.Lister
	// Writer writes children and finalizers, and Statuses the statuses of parents.
	Writer   *apply.Writer
	Statuses *apply.StatusWriter
	Recorder record.EventRecorder
	// Removed is called when the last parent of a removed rule is cleaned up.
	Removed func(op *operator.Operator)
	// Replan plans the rules again whose missing kinds exist again.
	Replan func()
	// Now returns the time that rules see.
	Now func() time.Time
	// Random is the source of random values in rules. nil: they are shown as asterisks.
	Random io.Reader
	// Unpaused is true if neither spec.minInterval applies nor the pauses and resyncs that a cluster needs.
	Unpaused bool
	// Observe, if set, is called at the end of each reconcile of a parent.
	Observe func(Observed)
	// Memory bounds the memory of the values of all evaluations together.
	Memory program.Account
	// Workers is how many parents are reconciled at the same time. ParallelWrites is how many children of one parent
	// are written at the same time while fewer parents wait than there are workers.
	Workers, ParallelWrites int
	// RecreateLimits bounds the pauses of objects that are recreated repeatedly.
	RecreateLimits queue.Limits
	// RetryMax bounds the pauses while fields or conditions are in conflict. WaitLimit is how long a parent without
	// conditions, or the deletion of a parent, may wait before an Event reports it.
	RetryMax, WaitLimit time.Duration
}

// Reconciler reconciles parents. It is safe for concurrent use, as long as each key is reconciled by one goroutine at a
// time.
type Reconciler struct {
	Options

	// memoryWaiters admits one key at a time to wait for memory, so that the other workers stay free for evaluations that
	// need little.
	memoryWaiters *queue.Semaphore[queue.Key]
	// longLists admits one reconcile at a time to lists of which the size is in the hands of others.
	longLists chan struct{}
	// cleanedUp has the newest cleanups, and for each whether the children were orphaned.
	cleanedUp *lru.Cache
	// creations has the children that were created recently.
	creations creations
	// large has the lines of descent that are too large.
	large largeLines
}

// New makes a Reconciler.
func New(options Options) *Reconciler {
	return &Reconciler{
		Options: options, memoryWaiters: queue.NewSemaphore[queue.Key](1), longLists: make(chan struct{}, 1), cleanedUp: lru.New(maxCleanedUp),
	}
}

// Reconcile brings everything that one rule defines for one parent up to date. The operator must be ready: its
// informers have synced.
func (r *Reconciler) Reconcile(ctx context.Context, op *operator.Operator, k queue.Key) queue.Outcome {
	defer r.Patches.Reconciled(op, k)
	parent, err := r.findParent(ctx, op, k)
	if errors.Is(err, errNotRead) {
		return queue.Await(queue.InformerSyncs)
	}
	if err != nil {
		r.Guard.Doubt(op, k, r.childrenOf(op, k))
		return queue.Outcome{Verdict: queue.Again, Err: err}
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
		r.Guard.Decide(op, k, nil)
	}
	if parent == nil || (parent.GetDeletionTimestamp() != nil && !op.HasFinalizer(parent)) {
		// The garbage collector deletes the children of a parent that is being deleted. A write now could undo what an
		// orphaning deletion is about to do.
		r.forget(op, k)
		if err := r.endLate(ctx, op, k, parent); err != nil {
			return queue.Outcome{Verdict: queue.Again, Err: err}
		}
		return queue.Outcome{}
	}
	r.Parents.SetFinalizer(k, op.HasFinalizer(parent))
	if conditions.IsSuspended(parent) {
		r.Guard.Doubt(op, k, r.riskOf(op, k, parent))
		return queue.Outcome{Verdict: r.skipSuspended(op, k, parent)}
	}
	if parent.GetDeletionTimestamp() != nil {
		return r.deletionOf(op, k, parent).do(ctx, (*pass).cleanUp)
	}
	now := r.Now()
	remembered := r.Parents.Memory(k, parent.GetUID(), op.Program.Hash)
	requested := op.InView(parent) && remembered.Request(conditions.ReconcileAt(parent))
	if requested {
		r.Patches.Retry(op, k)
	}
	if wait := remembered.Schedule.Wait(now); wait > 0 && !r.Unpaused {
		return queue.Outcome{Verdict: queue.Later, After: wait}
	}
	provenance, wait := r.Feedback.Begin(k, now, r.RetryMax)
	if wait > 0 {
		return queue.Outcome{Verdict: queue.Later, After: wait}
	}
	p := r.newPass(op, k, parent, remembered)
	p.provenance = provenance
	out := p.do(ctx, (*pass).reconcile)
	out.Requested = requested
	return out
}

// withVerbosity returns a context whose logger has the verbosity that the parent's annotation asks for.
func withVerbosity(ctx context.Context, parent *unstructured.Unstructured) context.Context {
	if parent == nil || conditions.VerbosityOf(parent) == 0 {
		return ctx
	}
	return logr.NewContext(ctx, conditions.LogAt(logr.FromContextOrDiscard(ctx), conditions.VerbosityOf(parent)))
}

// deletionOf returns a reconcile of a parent that is being deleted.
func (r *Reconciler) deletionOf(op *operator.Operator, k queue.Key, parent *unstructured.Unstructured) *pass {
	return r.newPass(op, k, parent, r.Parents.Memory(k, parent.GetUID(), op.Program.Hash))
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

// skipSuspended leaves a suspended parent alone. What is remembered of it stays, so that nothing is reported twice when
// it resumes; but it resumes at once, whatever minInterval says. For a parent that the informer does not show, no event
// follows, so it is read again with growing pauses.
func (r *Reconciler) skipSuspended(op *operator.Operator, k queue.Key, parent *unstructured.Unstructured) queue.Verdict {
	remembered := r.Parents.Memory(k, parent.GetUID(), op.Program.Hash)
	remembered.Schedule.Interval = 0
	r.Parents.Keep(k, remembered)
	if !op.InView(parent) {
		return queue.Again
	}
	return queue.Settled
}

// isSuspended reports whether the parent was suspended since the pass began, as the informer shows it. If somebody
// suspends a parent and then changes what its rule reads, nothing must be deleted.
func (p *pass) isSuspended() bool {
	now, ok := p.r.Monitors.Head(p.op.ParentKey, p.key.Parent.Namespace, p.key.Parent.Name)
	return ok && now.GetUID() == p.parent.GetUID() && conditions.IsSuspended(now)
}
