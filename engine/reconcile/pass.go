package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/ending"
	"kanon.dev/kanon/engine/feedback"
	"kanon.dev/kanon/engine/outcome"
	"kanon.dev/kanon/engine/patching"
	"kanon.dev/kanon/engine/plan"
	"kanon.dev/kanon/engine/span"
	"kanon.dev/kanon/engine/status"
	"kanon.dev/kanon/rules/program"
)

// pass is one reconcile of a parent in progress. Each phase has one owner and returns what it found. The functions
// below, and those in parentdeletion.go, collect the results.
type pass struct {
	*changes

	r *Reconciler

	reader    *reader
	finalizer *parentFinalizer
	children  *childWriter
	deleter   *deleter
	// evaluated is the version of the parent from which the rule is evaluated.
	evaluated string
	// problems are the failures so far, in the order of the nodes.
	problems []conditions.Problem
	// pending is work that follows later and blocks nothing.
	pending []conditions.Problem
}

// pass runs a reconcile, given as a story. It stores what the next reconcile of the parent needs, even if the story
// panics, and sets the time of the next reconcile in the outcome.
func (r *Reconciler) pass(ctx context.Context, of *subject, story func(*pass, context.Context) outcome.Outcome) (out outcome.Outcome) {
	p := r.newPass(ctx, of)
	defer func() {
		p.closeEvaluation(ctx)
		r.Readers.Keep(p.key, p.reader.reads)
		if p.memory != nil {
			p.memory.Conflicts.Expire(p.started)
			p.Parents.Keep(p.key, p.memory)
		}
		if !p.Running.IsCurrent(p.op) {
			p.RequeueAfter(0) // the operator that runs now may not use what was stored above
		}
		if p.next.After > 0 {
			out.RequeueAfter(p.next.After)
		}
	}()
	return story(p, ctx)
}

func (r *Reconciler) newPass(ctx context.Context, of *subject) *pass {
	changes := &changes{subject: of, Cluster: &r.Cluster, feedback: r.Feedback}
	p := &pass{r: r, changes: changes, finalizer: &parentFinalizer{changes: changes}}
	p.reader = &reader{subject: of, monitors: r.Monitors, readers: r.Readers, marks: r.Marks, mayRead: r.readGate(ctx, of.op)}
	if of.op.Program.ReadsStatus {
		p.reader.inputs = feedback.NewInputs()
	}
	p.children = &childWriter{
		changes: changes, reader: p.reader, finalizer: p.finalizer, guard: r.Guard, endings: ending.Policies{ByNode: of.op.Deletions},
		limit: func() int { return r.parallelWrites(of.op) }, recreateLimits: r.RecreateLimits,
	}
	p.deleter = &deleter{changes: changes, reader: p.reader, children: p.children, guard: r.Guard}
	p.reader.readUnmarked = p.children.unmarkedReaderIn(ctx)
	return p
}

// reconcile evaluates the rule and acts on the result. If it ends before it knows what the parent loses, it tells the
// guard what the parent could lose at most.
func (p *pass) reconcile(ctx context.Context) outcome.Outcome {
	p.reader.outdatedByContent = p.children.outdatedIn(ctx)
	out := outcome.Outcome{Verdict: outcome.Again, Err: p.evaluate(ctx, false)}
	if out.Err == nil {
		out = p.run(ctx)
	}
	if !p.deleter.asked {
		p.r.Guard.Doubt(p.op, p.key, p.deleter.atRisk(p.deleter.unrendered()))
	}
	return out
}

// run selects, writes, deletes and reports.
func (p *pass) run(ctx context.Context) outcome.Outcome {
	switch p.op.Selects(p.parent, plan.NamespaceLabels(p.Monitors)) {
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
	p.add(p.deleter.prune(ctx, p.problems))
	p.add(p.removeFinalizerIfUnneeded(ctx))
	p.add(p.loop())
	deleted, problems := p.deleter.deleteParent(ctx)
	if p.add(problems); deleted {
		return outcome.Outcome{}
	}
	problems, awaited := p.contribute(ctx)
	if p.add(problems); awaited {
		return p.confirmFinalizer(ctx, outcome.Outcome{Verdict: outcome.Waiting}) // the key is enqueued when they are applied or cannot be
	}
	return p.confirmFinalizer(ctx, p.conclude(ctx))
}

// obstacles returns why nothing is rendered for the parent. err is why it is not known whether the rule selects it.
func (p *pass) obstacles(ctx context.Context, err error) []conditions.Problem {
	if err != nil {
		return []conditions.Problem{conditions.OfPredicate(err)}
	}
	if problems := p.checkGenerations(); len(problems) > 0 {
		return problems
	}
	return p.finalizer.addToFinalize(ctx)
}

// render writes, batch by batch, what the rule renders. If ok is false, the reconcile ends with out.
func (p *pass) render(ctx context.Context) (out outcome.Outcome, ok bool) {
	for batch := p.evaluateNext(ctx); len(batch) > 0; batch = p.evaluateNext(ctx) {
		if p.isSuspended() {
			return outcome.Outcome{Verdict: outcome.Waiting}, false
		}
		problems, pending := p.children.writeBatch(ctx, batch)
		p.add(problems)
		p.pending = append(p.pending, pending...)
	}
	if p.isSuspended() {
		return outcome.Outcome{Verdict: outcome.Waiting}, false
	}
	_, end := span.Start(ctx, "evaluate the status")
	p.result = p.evaluation.Result()
	end(nil)
	if p.isOutOfMemory(ctx) {
		return outcome.Outcome{Verdict: outcome.Again}, false
	}
	return outcome.Outcome{}, true
}

// evaluateNext evaluates the next batch.
func (p *pass) evaluateNext(ctx context.Context) []program.Rendered {
	_, end := span.Start(ctx, "evaluate")
	defer end(nil)
	return p.evaluation.Next()
}

// cleanUpUnselected removes what the rule wrote to the status of a parent that the rule does not select, and prunes its
// children. The status comes first, because the children are what leads to a parent that no longer matches the
// selector. If the API server refuses the write of the status for good, the children do not wait for it.
func (p *pass) cleanUpUnselected(ctx context.Context) outcome.Outcome {
	if !p.isSuspended() && !p.deleter.mayPrune(p.deleter.unrendered()) {
		return p.outcome() // change nothing until the guard allows the deletions
	}
	refused := p.report().Release(ctx)
	if len(refused) == 0 || refused[0].Stalled {
		p.add(p.deleter.prune(ctx, p.problems))
		p.add(p.removeFinalizerIfUnneeded(ctx))
	}
	if p.add(refused); len(refused) == 0 {
		p.Parents.SetUnselected(p.key, false)
	}
	p.r.Patches.Drop(p.op, p.key)
	p.Parents.Release(p.key)
	p.memory.Release()
	if p.op.Removal != nil || !p.op.InView(p.parent) { // no event would report the deletion of such a parent, so its memory would stay
		p.memory = nil
		return p.outcome()
	}
	p.report().ReportUnselected(ctx)
	return p.outcome()
}

// concludeUnrendered is conclude for a parent for which nothing was rendered: what was waiting stays as it was.
func (p *pass) concludeUnrendered(ctx context.Context, obstacles []conditions.Problem) outcome.Outcome {
	p.add(obstacles)
	p.result = p.evaluation.Result()
	p.result.Nodes, p.result.Events, p.result.StatusFailed = nil, nil, nil
	if p.isOutOfMemory(ctx) {
		return outcome.Outcome{Verdict: outcome.Again}
	}
	return p.conclude(ctx)
}

// conclude reports what the reconcile found: in the parent's status, as Events, and in the outcome.
func (p *pass) conclude(ctx context.Context) outcome.Outcome {
	if err := ctx.Err(); err != nil {
		return outcome.Outcome{Verdict: outcome.Again, Err: err} // an interrupted evaluation says nothing about the parent
	}
	if p.reader.incomplete {
		return p.outcome().AtLeast(outcome.Waiting)
	}
	report := p.report()
	p.add(report.Report(ctx, p.found()))
	p.finalizer.seen = p.finalizer.seen || report.Written
	return p.outcome()
}

// found returns what the pass has found so far.
func (p *pass) found() status.Found {
	return status.Found{Result: p.result, Problems: p.problems, Pending: p.pending, Kept: conditions.Kept(p.deleter.kept)}
}

// report returns the report on the parent as it is now.
func (p *pass) report() *status.Report {
	return &status.Report{
		Options: p.Options,
		Parent: status.Parent{
			Op: p.op, Key: p.key, Object: p.parent, Memory: p.memory, Evaluated: p.evaluated, Started: p.started, Due: p.due, Inputs: p.reader.inputs,
			NamespaceEnds: p.namespaceEnds, Changes: p.changes,
		},
	}
}

// outcome returns the outcome of the reconcile, by what it found so far.
func (p *pass) outcome() outcome.Outcome {
	out := outcomeOf(p.problems)
	if p.deleter.isBlocked() {
		out = out.AtLeast(outcome.Waiting)
	}
	if p.children.missed {
		out = out.AtLeast(outcome.Again)
	}
	if p.evaluation != nil && p.evaluation.OutOfTime() {
		out = out.AtLeast(outcome.Again) // no event reports that a busy machine has become idle
	}
	if p.op.Removal != nil && len(p.problems) > 0 {
		out.Waits = p.problems[0].String()
	}
	return out
}

// add appends the problems that a phase returned, without the values of Secrets if the rule may have to do with Secrets.
func (p *pass) add(problems []conditions.Problem) {
	for _, of := range problems {
		of.Err = p.redacted(of.Err)
		p.problems = append(p.problems, of)
	}
}

// redacted returns an error without the values of Secrets, if the rule may have to do with Secrets.
func (p *pass) redacted(err error) error {
	if p.op.Program.HasSecrets {
		return conditions.Redact(err)
	}
	return err
}

// outcomeOf returns the outcome of a reconcile that had these problems. A problem that goes away without an event is
// retried; one that no condition reports is logged.
func outcomeOf(problems []conditions.Problem) outcome.Outcome {
	var out outcome.Outcome
	var errs []error
	for _, problem := range problems {
		if problem.IsEventful() {
			out = out.AtLeast(outcome.Waiting)
			continue
		}
		out = out.AtLeast(outcome.Again)
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
	return p.r.Patches.Contribute(ctx, p.contributor(), p.result.Patches)
}

func (p *pass) contributor() patching.Contributor {
	return patching.Contributor{
		Op: p.op, Key: p.key, Parent: p.parent, Provenance: p.provenance,
		Select: func(l plan.Lookup, q program.Query) ([]*unstructured.Unstructured, error) {
			found, _, err := p.reader.find(l, q)
			return found, err
		},
	}
}

// loop reports the loop that the reconcile is part of, and requeues the parent for the end of the pause.
func (p *pass) loop() []conditions.Problem {
	loop := p.provenance.Loop()
	if loop == nil {
		return nil
	}
	p.RequeueAfter(loop.Wait(p.started) + time.Millisecond)
	return []conditions.Problem{conditions.OfLoop(loop, func(rule string) (string, bool) { return p.Running.TitleFor(p.op, rule) })}
}
