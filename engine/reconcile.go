package engine

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/ending"
	"kanon.dev/kanon/engine/feedback"
	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/engine/operator"
	"kanon.dev/kanon/engine/outcome"
	"kanon.dev/kanon/engine/pacing"
	"kanon.dev/kanon/engine/plan"
	"kanon.dev/kanon/engine/queue"
	"kanon.dev/kanon/rules"
)

// reconcile brings what one rule makes of one parent up to date: it finds the
// parent, evaluates the rule, writes children node by node, prunes, and writes
// the status.
func (e *Engine) reconcile(ctx context.Context, k queue.Key) (out outcome.Outcome) {
	if k.Patch != "" {
		op := e.running.Get(k.Rule)
		return e.patches.Reconcile(ctx, op, k, op != nil && e.ready(op))
	}
	op := e.running.Get(k.Rule)
	if op == nil || !e.ready(op) {
		if op != nil && k.IsSeek() {
			op.Searched.Store(false) // so that its start searches again
		}
		return outcome.Outcome{Verdict: outcome.Waiting} // its start enqueues every parent
	}
	if k.IsSeek() {
		return e.findHiddenParents(ctx, op)
	}
	defer e.patches.Reconciled(op, k)
	parent, err := e.findParent(ctx, op, k)
	if errors.Is(err, errNotRead) {
		return outcome.Outcome{Verdict: outcome.Waiting} // the informer's start enqueues every parent
	}
	if err != nil {
		e.doubt(op, k, e.cluster.childrenOf(op, k))
		return outcome.Outcome{Verdict: outcome.Again, Err: err}
	}
	if op.Removal != nil {
		return e.cleanUpRemovedRule(ctx, op, k, parent)
	}
	if parent == nil || parent.GetDeletionTimestamp() != nil {
		e.excuse(op, k)
	}
	if parent == nil || (parent.GetDeletionTimestamp() != nil && !op.HasFinalizer(parent)) {
		// The garbage collector deletes the children of a parent that is being deleted. A write now could undo what an
		// orphaning deletion is about to do.
		e.forget(op, k)
		return outcome.Outcome{}
	}
	e.parents.SetFinalizer(k, op.HasFinalizer(parent))
	if isSuspended(parent) {
		e.doubt(op, k, e.riskOf(op, k, parent))
		return outcome.Outcome{Verdict: e.skipSuspended(op, k, parent)}
	}
	now := e.options.Clock.Now()
	if parent.GetDeletionTimestamp() != nil {
		return e.reconcileDeletion(ctx, op, k, parent, now)
	}
	remembered := e.parents.Memory(k, parent.GetUID(), op.Program.Hash())
	remembered.Schedule.Request(parent.GetAnnotations()[annotationReconcileAt])
	if wait := remembered.Schedule.Wait(now); wait > 0 {
		return outcome.Outcome{Verdict: outcome.Later, After: wait}
	}
	provenance, wait := e.feedback.Begin(k, now, e.options.RetryMax)
	if wait > 0 {
		return outcome.Outcome{Verdict: outcome.Later, After: wait}
	}
	of := newSubject(op, k, parent, remembered, now)
	of.provenance = provenance
	p := e.newPass(ctx, of)
	defer p.finish(&out)
	return p.reconcile(ctx)
}

// reconcile evaluates the rule and does what follows. If it ends before it is known what the parent
// loses, the guard learns what it could lose at most.
func (p *pass) reconcile(ctx context.Context) outcome.Outcome {
	p.reader.outdatedByContent = p.children.outdatedIn(ctx)
	out := outcome.Outcome{Verdict: outcome.Again, Err: p.evaluate(ctx, false)}
	if out.Err == nil {
		out = p.run(ctx)
	}
	if !p.deleter.asked {
		p.engine.doubt(p.op, p.key, p.deleter.atRisk(p.deleter.unrendered()))
	}
	return out
}

// pass is one reconcile of a parent in progress. It has one owner for each phase, and hands on what each of them found.
type pass struct {
	*changes

	engine *Engine

	reader    *reader
	finalizer *parentFinalizer
	children  *childWriter
	deleter   *deleter
	status    *statusWriter
	// problems are what did not succeed, in the order of the nodes.
	problems []conditions.Problem
	// pending is what follows later, and blocks nothing.
	pending []conditions.Problem
}

func (e *Engine) newPass(ctx context.Context, of *subject) *pass {
	changes := &changes{subject: of, cluster: e.cluster, feedback: e.feedback, isRead: e.running.IsRead}
	p := &pass{engine: e, changes: changes, finalizer: &parentFinalizer{changes: changes, parents: e.parents}}
	p.reader = &reader{subject: of, monitors: e.monitors, readers: e.readers, borrowed: e.borrowed, marks: e.marks}
	if of.op.Program.ReadsStatus() {
		p.reader.inputs = feedback.NewInputs()
	}
	p.children = &childWriter{
		changes: changes, reader: p.reader, finalizer: p.finalizer, endings: ending.Policies{ByNode: of.op.Deletions},
		mayRecreate: func() (may, blocked bool) { return e.mayRecreate(of.op, of.key) },
		managerName: e.running.ManagerName,
		parallel:    func() int { return e.parallelWrites(of.op) },
		retryMax:    e.options.RetryMax, recreateLimits: pacing.Limits{First: e.options.RecreateBase, Max: e.options.RecreateMax},
	}
	p.deleter = &deleter{
		changes: changes, reader: p.reader, children: p.children, parents: e.parents,
		decide:      func(refs []identity.ID) bool { return e.decide(of.op, of.key, refs) },
		doubt:       func(refs []identity.ID) bool { return e.doubt(of.op, of.key, refs) },
		checkAbsent: func(ctx context.Context) error { return e.checkAbsent(ctx, of.op) },
	}
	p.status = &statusWriter{
		changes: changes, reader: p.reader, finalizer: p.finalizer, parents: e.parents, running: &e.running,
		retryMax: e.options.RetryMax, waitLimit: e.options.WaitLimit,
	}
	p.reader.readUnmarked = p.children.unmarkedReaderIn(ctx)
	return p
}

// parallelWrites is how many children of a parent are written at the same time. While so many parents of the rule wait that all
// workers will be busy with them, more requests at a time do not get more done: all only take longer, also those for other rules.
func (e *Engine) parallelWrites(op *operator.Operator) int {
	if e.queue.Waiting(op.ID) >= e.options.Workers {
		return 1
	}
	return e.options.ParallelWrites
}

// write brings a batch of nodes to the cluster.
func (p *pass) write(ctx context.Context, batch []rules.Rendered) {
	problems, pending := p.children.writeBatch(ctx, batch)
	p.problems, p.pending = append(p.problems, problems...), append(p.pending, pending...)
}

// finish keeps what the next pass for the parent needs, and completes the outcome by the time after which the parent has to be
// reconciled again. It is for defer: a pass that panics ends as well.
func (p *pass) finish(out *outcome.Outcome) {
	if p.evaluation != nil {
		p.evaluation.Close()
	}
	p.reader.keep()
	if p.memory != nil {
		p.memory.Conflicts.Expire(p.started)
		p.engine.parents.Keep(p.key, p.memory)
	}
	if !p.engine.running.IsCurrent(p.op) {
		p.requeueAfter(0) // what was kept above may be of no use to the operator that runs now
	}
	if p.next.After > 0 {
		out.RequeueAfter(p.next.After)
	}
}

// run is the story of a reconcile: select, write, delete, report.
func (p *pass) run(ctx context.Context) outcome.Outcome {
	switch p.op.Selects(p.parent, p.namespaceLabels) {
	case plan.Undecided:
		return outcome.Outcome{Verdict: outcome.Waiting} // the Namespace's event decides
	case plan.Unselected:
		return p.cleanUpUnselected(ctx)
	case plan.Selected:
	}
	defer p.planNext()
	matches, err := p.evaluation.Matches()
	switch {
	case p.isOutOfMemory(ctx):
		return outcome.Outcome{Verdict: outcome.Again}
	case err != nil:
		p.add(conditions.OfPredicate(err))
	case !matches:
		return p.cleanUpUnselected(ctx)
	}
	if err != nil || p.hasTooManyAncestors() || !p.addFinalizerToFinalize(ctx) {
		p.engine.patches.ContributeUnknown(p.contributor())
		p.outcome = p.evaluation.Outcome() // what waits in it stays as it was
		p.outcome.Nodes, p.outcome.Events, p.outcome.StatusFailed = nil, nil, nil
		if p.isOutOfMemory(ctx) {
			return outcome.Outcome{Verdict: outcome.Again}
		}
		return p.conclude(ctx)
	}
	for batch := p.evaluation.Next(); len(batch) > 0; batch = p.evaluation.Next() {
		if p.isSuspended() {
			return outcome.Outcome{Verdict: outcome.Waiting}
		}
		p.write(ctx, batch)
	}
	if p.isSuspended() {
		return outcome.Outcome{Verdict: outcome.Waiting}
	}
	p.outcome = p.evaluation.Outcome()
	if p.isOutOfMemory(ctx) {
		return outcome.Outcome{Verdict: outcome.Again}
	}
	p.add(p.deleter.prune(ctx, p.problems)...)
	p.removeFinalizerIfUnneeded(ctx)
	p.checkLoop()
	if p.deleteParent(ctx) {
		return outcome.Outcome{}
	}
	if p.contribute(ctx) {
		return p.confirmFinalizer(ctx, outcome.Outcome{Verdict: outcome.Waiting}) // the key is enqueued when they are applied, or cannot be
	}
	return p.confirmFinalizer(ctx, p.conclude(ctx))
}

// cleanUpUnselected takes back what the rule wrote to the status of a parent that it does not select, and prunes all that it
// created for it. The status comes first: a parent that no longer matches the selector is found by its children. If the
// write of the status is refused, and not only late, the children do not wait for it.
func (p *pass) cleanUpUnselected(ctx context.Context) outcome.Outcome {
	if !p.isSuspended() && !p.deleter.mayPrune(p.deleter.unrendered()) {
		return p.result() // nothing is changed until the guard knows that this is meant
	}
	err := p.status.releaseStatus(ctx)
	if err == nil || conditions.OfWrite("", err).Stalled {
		p.add(p.deleter.prune(ctx, p.problems)...)
		p.removeFinalizerIfUnneeded(ctx)
	}
	if err != nil {
		p.add(p.status.problemOf(err))
	} else {
		p.engine.parents.SetLeft(p.key, false)
	}
	p.engine.patches.Drop(p.op, p.key)
	p.engine.parents.Release(p.key)
	p.memory = nil
	return p.result()
}

// cleanUpRemoved is cleanUpUnselected for a rule that was removed.
func (p *pass) cleanUpRemoved(ctx context.Context) (out outcome.Outcome) {
	defer p.finish(&out)
	return p.cleanUpUnselected(ctx)
}

// errNotRead says that the parents have not been read yet. They are about to be.
var errNotRead = conditions.Transient("it is being read for the first time")

// findParent is the parent of a key, or nil if there is nothing to do for it: it does not exist, or the informer does not show it
// and it has nothing of the rule. The error is errNotRead while the informer of the parents fills again.
func (e *Engine) findParent(ctx context.Context, op *operator.Operator, k queue.Key) (*unstructured.Unstructured, error) {
	view := e.monitors.View(op.ParentKey)
	if view == nil {
		return nil, errNotRead
	}
	if parent, ok := view.Get(k.Parent.Namespace, k.Parent.Name); ok {
		return parent, nil
	}
	if known := e.parents.Get(k); !op.IsNarrow() || (!e.cluster.hasChildren(op, k) && !known.HasFinalizer && !known.Left) {
		return nil, nil
	}
	// The informer does not show it, but it may exist: only the API server knows.
	parent, err := e.cluster.getParent(ctx, op, k)
	if err != nil {
		return nil, err
	}
	if parent != nil && op.InView(parent) {
		return nil, nil // the informer is about to show it
	}
	return parent, nil
}
