package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/feedback"
	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/engine/operator"
	"kanon.dev/kanon/engine/patching"
	"kanon.dev/kanon/engine/queue"
	"kanon.dev/kanon/engine/telemetry"
	"kanon.dev/kanon/engine/watch"
	"kanon.dev/kanon/rules/program"
)

// pass is one reconcile of a parent in progress.
type pass struct {
	r      *Reconciler
	reader *reader

	op  *operator.Operator
	key queue.Key
	// names are the names that must not be told; nil for a rule that computes none from Secrets.
	names *conditions.Names
	// parent is the state in the last answer to a write. evaluated is the version from which the rule is evaluated.
	parent    *unstructured.Unstructured
	evaluated string
	// memory is kept for the next reconcile. It is nil if the rule turns out not to select the parent.
	memory *conditions.Memory
	// provenance is the chain of rules' writes that led to the reconcile.
	provenance *feedback.Provenance
	// started is when the reconcile began, and seen is the time that the evaluation sees.
	started, seen time.Time
	// finalizing is true while spec.finalize is evaluated for a parent that is being deleted.
	finalizing bool

	evaluation *program.Evaluation
	// result is the result of the evaluation, once it has ended.
	result program.Result
	// isRendered is true once everything is rendered. shown, nodes and writes are what Observed shows of it.
	isRendered bool
	shown      program.Result
	nodes      []program.Rendered
	writes     []Write
	// problems are the failures so far, in the order of the nodes. pending is work that follows later and blocks nothing.
	problems, pending []conditions.Problem
	// rendered is the set of children that the rule has rendered so far.
	rendered map[identity.ID]bool
	// missed is true if a child exists, and is as the rule renders it, and its informer did not show it. No event may
	// follow that enqueues the parent.
	missed bool
	// blocked are children that may have to be recreated, and are not because of the guard.
	blocked []identity.ID
	// asked is true once the guard has been asked about what the parent loses.
	asked bool
	// kept are the children that the rule no longer renders and that are not deleted for now.
	kept []string
	// orphaning is true if the parent is being deleted and all its children are kept. decided is what the rule,
	// evaluated now, decides about the children of a parent that is being deleted.
	orphaning bool
	decided   map[identity.ID]mark.Retain
	// finalizerNeeded is true if something in this reconcile needs the finalizer, and finalizerAdded once the reconcile
	// has added it. parentSeen is true once an answer after that has shown the parent.
	finalizerNeeded, finalizerAdded, parentSeen bool
	// namespaceEnds is true if a write showed that the parent's namespace is being deleted.
	namespaceEnds bool
	// next holds the time after which the parent has to be reconciled again.
	next queue.Outcome
}

func (r *Reconciler) newPass(op *operator.Operator, k queue.Key, parent *unstructured.Unstructured, memory *conditions.Memory) *pass {
	now := r.Now()
	return &pass{
		r: r, op: op, key: k, parent: parent, memory: memory, provenance: &feedback.Provenance{},
		started: now, seen: memory.Schedule.EvaluationTime(now, op.Program.Drifts),
		rendered: make(map[identity.ID]bool),
	}
}

// do runs a reconcile, given as a story. It stores what the next reconcile of the parent needs, even if the story
// panics, and sets the time of the next reconcile in the outcome.
func (p *pass) do(ctx context.Context, story func(*pass, context.Context) queue.Outcome) (out queue.Outcome) {
	p.names = p.r.namesOf(p.op, p.key)
	ctx = discreet(ctx, p.names)
	p.reader = newReader(ctx, p)
	defer func() {
		out.Err, out.Retry = p.names.Error(out.Err), p.names.Error(out.Retry)
		out.Undecided = p.evaluation != nil && (p.evaluation.OutOfMemory() || p.evaluation.OutOfTime())
		p.handOut()
		p.closeEvaluation(ctx)
		p.r.Readers.Keep(p.key, p.reader.reads)
		if p.memory != nil {
			p.memory.Conflicts.Expire(p.started)
			p.r.Parents.Keep(p.key, p.memory)
		}
		if !p.r.Running.IsCurrent(p.op) {
			p.requeueAfter(0) // the operator that runs now may not use what was stored above
		}
		if p.next.After > 0 {
			out.RequeueAfter(p.next.After)
		}
	}()
	return story(p, ctx)
}

// reconcile evaluates the rule and acts on the result. If it ends before it knows what the parent loses, it tells the
// guard what the parent could lose at most.
func (p *pass) reconcile(ctx context.Context) queue.Outcome {
	out := queue.Outcome{Verdict: queue.Again, Err: p.evaluate(ctx, false)}
	if out.Err == nil {
		out = p.run(ctx)
	}
	if !p.asked {
		p.r.Guard.Doubt(p.op, p.key, p.atRisk(p.unrendered()))
	}
	return out
}

// run selects, writes, deletes and reports.
func (p *pass) run(ctx context.Context) queue.Outcome {
	switch p.op.Selects(p.parent, operator.NamespaceLabels(p.r.Monitors)) {
	case operator.Undecided:
		return queue.Await(queue.NamespaceChanges)
	case operator.Unselected:
		return p.cleanUpUnselected(ctx)
	case operator.Selected:
	}
	defer p.planNext()
	matches, err := p.evaluation.Matches()
	switch {
	case p.isOutOfMemory(ctx):
		return queue.Outcome{Verdict: queue.Again}
	case err == nil && !matches:
		return p.cleanUpUnselected(ctx)
	}
	if obstacles := p.obstacles(ctx, err); len(obstacles) > 0 {
		p.r.Patches.ContributeUnknown(p.contributor())
		return p.concludeUnrendered(ctx, obstacles)
	}
	if out, ok := p.render(ctx); !ok {
		return out
	}
	p.add(p.reader.denied)
	p.add(p.prune(ctx, p.problems))
	p.add(p.removeFinalizerIfUnneeded(ctx))
	p.add(p.loop())
	p.add(p.reportDescendants())
	deleted, problems := p.deleteParent(ctx)
	if p.add(problems); deleted {
		return queue.Outcome{}
	}
	problems, awaited := p.contribute(ctx)
	if p.add(problems); awaited {
		return p.confirmFinalizer(ctx, queue.Await(queue.TargetIsWritten))
	}
	return p.confirmFinalizer(ctx, p.conclude(ctx))
}

// obstacles returns why nothing is rendered for the parent. err is why it is not known whether the rule selects it.
func (p *pass) obstacles(ctx context.Context, err error) []conditions.Problem {
	if err != nil {
		return []conditions.Problem{conditions.OfPredicate(err)}
	}
	if problems := p.checkDescent(); len(problems) > 0 {
		return problems
	}
	return p.addToFinalize(ctx)
}

// render writes, batch by batch, what the rule renders. If ok is false, the reconcile ends with out.
func (p *pass) render(ctx context.Context) (out queue.Outcome, ok bool) {
	for batch := p.evaluateNext(ctx); len(batch) > 0; batch = p.evaluateNext(ctx) {
		if p.isSuspended() {
			return queue.Await(queue.Resumes), false
		}
		problems, pending := p.writeBatch(ctx, batch)
		p.add(problems)
		p.pending = append(p.pending, pending...)
	}
	if p.isSuspended() {
		return queue.Await(queue.Resumes), false
	}
	_, end := telemetry.Start(ctx, "evaluate the status")
	p.result = p.evaluation.Result()
	p.isRendered, p.shown = true, p.result
	end(nil)
	if p.isOutOfMemory(ctx) {
		return queue.Outcome{Verdict: queue.Again}, false
	}
	return queue.Outcome{}, true
}

// evaluateNext evaluates the next batch.
func (p *pass) evaluateNext(ctx context.Context) []program.Rendered {
	_, end := telemetry.Start(ctx, "evaluate")
	defer end(nil)
	return p.evaluation.Next()
}

// cleanUpUnselected removes what the rule wrote to the status of a parent that the rule does not select, and prunes its
// children. The status comes first, because the children are what leads to a parent that no longer matches the
// selector. If the API server refuses the write of the status for good, the children do not wait for it.
func (p *pass) cleanUpUnselected(ctx context.Context) queue.Outcome {
	if !p.isSuspended() && !p.mayPrune(p.unrendered()) {
		return p.outcome() // change nothing until the guard allows the deletions
	}
	refused := p.report().clear(ctx)
	if len(refused) == 0 || refused[0].Stalled {
		p.add(p.prune(ctx, p.problems))
		p.add(p.removeFinalizerIfUnneeded(ctx))
	}
	if p.add(refused); len(refused) == 0 {
		p.r.Parents.SetUnselected(p.key, false)
	}
	p.r.Patches.Drop(p.op, p.key)
	p.r.Parents.Release(p.key)
	p.memory.Release()
	if p.op.Removal != nil || !p.op.InView(p.parent) { // no event would report the deletion of such a parent, so its memory would stay
		p.memory = nil
		return p.outcome()
	}
	p.report().reportUnselected(ctx)
	return p.outcome()
}

// concludeUnrendered is conclude for a parent for which nothing was rendered: what was waiting stays as it was.
func (p *pass) concludeUnrendered(ctx context.Context, obstacles []conditions.Problem) queue.Outcome {
	p.add(obstacles)
	p.result = p.evaluation.Result()
	p.result.Nodes, p.result.Events, p.result.StatusFailed = nil, nil, nil
	if p.isOutOfMemory(ctx) {
		return queue.Outcome{Verdict: queue.Again}
	}
	return p.conclude(ctx)
}

// conclude reports what the reconcile found: in the parent's status, as Events, and in the outcome.
func (p *pass) conclude(ctx context.Context) queue.Outcome {
	if err := ctx.Err(); err != nil {
		return queue.Outcome{Verdict: queue.Again, Err: err} // an interrupted evaluation says nothing about the parent
	}
	if p.reader.incomplete {
		return p.outcome().AndAwait(queue.InformerSyncs)
	}
	p.add(p.report().report(ctx, p.problems))
	return p.outcome()
}

// outcome returns the outcome of the reconcile, by what it found so far.
func (p *pass) outcome() queue.Outcome {
	out := outcomeOf(p.problems)
	if p.isBlocked() {
		out = out.AndAwait(queue.InputChanges) // that of a node that has not been seen, or waits
	}
	if p.missed {
		out = out.AtLeast(queue.Again)
	}
	if p.evaluation != nil && p.evaluation.OutOfTime() {
		out = out.AtLeast(queue.Again) // no event reports that a busy machine has become idle
	}
	if p.op.Removal != nil && len(p.problems) > 0 {
		out.Waits = p.problems[0].String()
	}
	return out
}

// add appends the problems that a phase returned, without the values of Secrets if the rule may have to do with Secrets.
func (p *pass) add(problems []conditions.Problem) {
	for _, of := range problems {
		of.Subject, of.Err = p.names.Text(of.Subject), p.redacted(of.Err)
		p.problems = append(p.problems, of)
	}
}

// redacted returns an error without the values of Secrets, if the rule may have to do with Secrets.
func (p *pass) redacted(err error) error {
	if p.op.Program.HasSecrets {
		return p.names.Error(conditions.Redact(err))
	}
	return err
}

// outcomeOf returns the outcome of a reconcile that had these problems. A problem that goes away without an event is
// retried; one that no condition reports is logged.
func outcomeOf(problems []conditions.Problem) queue.Outcome {
	var out queue.Outcome
	var errs []error
	for _, problem := range problems {
		if event, ok := problem.Awaits(); ok {
			out = out.AndAwait(event)
			continue
		}
		out = out.AtLeast(queue.Again)
		err := fmt.Errorf("%s: %w", problem.Subject, problem.Err)
		switch {
		case problem.IsLogged():
			errs = append(errs, err)
		case problem.IsTransient():
			out.Retry = err
		}
	}
	if i := slices.IndexFunc(problems, func(of conditions.Problem) bool { return lacksRights(of.Err) }); i >= 0 {
		out.Denied = problems[i].String()
	}
	out.Err = errors.Join(errs...)
	return out
}

// contribute hands the parent's patches to package patching. awaited is true if a patch is about to be applied for the
// first time: the reconcile after that reports the result.
func (p *pass) contribute(ctx context.Context) (problems []conditions.Problem, awaited bool) {
	p.hideTargets()
	return p.r.Patches.Contribute(ctx, p.contributor(), p.result.Patches)
}

func (p *pass) contributor() patching.Contributor {
	return patching.Contributor{
		Op: p.op, Key: p.key, Parent: p.parent, Provenance: p.provenance,
		Select: p.reader.find,
	}
}

// loop reports the loop that the reconcile is part of, and requeues the parent for the end of the pause.
func (p *pass) loop() []conditions.Problem {
	loop := p.provenance.Loop()
	if loop == nil {
		return nil
	}
	p.requeueAfter(loop.Wait(p.started) + time.Millisecond)
	return []conditions.Problem{conditions.OfLoop(loop, func(rule string) (string, bool) { return p.r.Running.TitleFor(p.op, rule) })}
}

// requeueAfter asks for another reconcile of the parent after d at the latest. Only the goroutine of the reconcile
// calls it.
func (p *pass) requeueAfter(d time.Duration) { p.next.RequeueAfter(d) }

// beginWrite tells package feedback that the reconcile is about to write an object, so that it is known which reconcile
// caused which change. Call end after the write.
func (p *pass) beginWrite(obj *unstructured.Unstructured) (end func()) {
	return p.r.Feedback.BeginWrite(p.key, identity.Of(obj), p.names.Text(mark.RefOf(obj).String()), p.provenance, len(p.rendered))
}

// observe reports the answer of a write, after beginWrite: as the newest state of the object, so that no later reconcile
// sees an older one, and as the cause of what follows.
func (p *pass) observe(informer watch.Key, obj *unstructured.Unstructured) {
	if informer == p.op.ParentKey || p.op.ReadsObserved.Load() || p.r.Running.IsRead(informer.GVR) {
		p.r.Feedback.Wrote(p.key, identity.Of(obj), feedback.VersionOf(obj))
	}
	p.r.Monitors.Observe(informer, obj)
}

// deleted reports that the reconcile deleted an object, after beginWrite.
func (p *pass) deleted(obj *unstructured.Unstructured) {
	p.r.Feedback.Wrote(p.key, identity.Of(obj), feedback.Version{UID: obj.GetUID()})
}
