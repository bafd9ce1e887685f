package reconcile

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"

	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/queue"
	"kanon.dev/kanon/engine/telemetry"
	"kanon.dev/kanon/rules/program"
)

// memoryPause is how long a parent that is being deleted waits for its next evaluation after one that ran out of
// memory, unless its turn comes first.
const memoryPause = time.Second

// ErrNoMemory ends a reconcile for which there is no memory now. It is nobody's fault.
var ErrNoMemory = errors.New("no memory to evaluate the rule now")

// evaluate begins the evaluation of a pass. If the last one ran out of memory, it first reserves as much as the
// evaluation can need.
func (p *pass) evaluate(ctx context.Context, finalizing bool) error {
	p.closeEvaluation(ctx)
	p.evaluated = p.parent.GetResourceVersion()
	p.evaluation = p.op.Program.Evaluate(ctx, program.Input{
		Parent: p.parent, Now: p.seen, Reader: p.reader, Random: p.r.Random, Finalizing: finalizing, Missing: p.op.Missing(),
		Memory: p.r.Memory,
	})
	if p.memory == nil || !p.memory.OutOfMemory {
		return nil
	}
	if err := p.reserve(ctx); err != nil {
		return err
	}
	p.memory.OutOfMemory = false
	return nil
}

// closeEvaluation ends the evaluation of a pass, if any, and counts its cost.
func (p *pass) closeEvaluation(ctx context.Context) {
	if p.evaluation != nil {
		telemetry.FromContext(ctx).Evaluated(p.evaluation.Cost())
		p.evaluation.Close()
	}
}

// reserve reserves as much memory as the evaluation can need. One worker at a time waits for that, and occupies no
// memory while it waits, so the other evaluations make progress. All other keys go back to the queue with ErrNoMemory,
// and return when it is their turn to wait.
func (p *pass) reserve(ctx context.Context) error {
	if p.evaluation.TryReserve() {
		p.r.memoryWaiters.Forget(p.key)
		return nil
	}
	if !p.r.memoryWaiters.TryAcquire(p.key) {
		return ErrNoMemory
	}
	err := p.evaluation.Reserve(ctx)
	if next, ok := p.r.memoryWaiters.Release(); ok {
		p.r.Queue.AddPatient(next)
	}
	return err //nolint:wrapcheck // It says what was waited for.
}

// isOutOfMemory reports whether the evaluation ended because all evaluations together used up the shared memory. No
// condition reports this: the rule cannot change it.
func (p *pass) isOutOfMemory(ctx context.Context) bool {
	if !p.evaluation.OutOfMemory() {
		return false
	}
	if p.memory != nil {
		p.memory.OutOfMemory = true
	}
	logr.FromContextOrDiscard(ctx).V(2).Info("The evaluations together need more memory than there is; this one is tried again")
	return true
}

// planNext stores when this reconcile was and which time it saw, and requeues the parent for the time at which
// something that the rule computed from now changes. The queue keeps the earliest of several times for a key. A time
// that no longer matters costs one evaluation.
func (p *pass) planNext() {
	due := queue.DueAt(p.seen, p.evaluation.ReevaluateAt(), p.result.RequeueAfter)
	if !due.IsZero() {
		p.requeueAfter(due.Sub(p.r.Now()))
	}
	if p.reader.incomplete || p.evaluation.OutOfMemory() {
		return // this reconcile does not count: the next one comes as soon as it can
	}
	// The text outlives this version of the parent.
	next := queue.Schedule{Requested: strings.Clone(conditions.ReconcileAt(p.parent))}
	if every := p.result.MinInterval; every > 0 && !slices.ContainsFunc(p.problems, conditions.Problem.IsTransient) {
		next.Started, next.Interval = p.started, every // what the next reconcile resolves does not wait for so long
	}
	if program := p.op.Program; program.Drifts {
		next.Seen, next.Due = p.seen, due
	} else if program.ReadsStatus {
		next.Due = due
	}
	if p.memory != nil {
		p.memory.Schedule = next
	}
}
