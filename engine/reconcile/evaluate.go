package reconcile

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"time"

	"github.com/go-logr/logr"

	"kanon.dev/kanon/engine/meter"
	"kanon.dev/kanon/engine/pacing"
	"kanon.dev/kanon/engine/request"
	"kanon.dev/kanon/rules/program"
)

// memoryPause is after how long a parent that is being deleted is tried again whose evaluation found no memory, unless its turn
// comes before.
const memoryPause = time.Second

// ErrNoMemory is what ends a reconcile for which there is no memory now. It is no fault of anybody.
var ErrNoMemory = errors.New("no memory to evaluate the rule now")

// evaluate begins the evaluation of a pass. One that ended for want of memory is tried again with as much as it can need.
func (p *pass) evaluate(ctx context.Context, finalizing bool) error {
	p.closeEvaluation(ctx)
	p.evaluation = p.op.Program.Evaluate(ctx, program.Input{
		Parent: p.parent, Now: p.seen, Reader: p.reader, Random: rand.Reader, Finalizing: finalizing, Missing: p.op.Missing(),
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

// closeEvaluation ends the evaluation of a pass, if there is one, and counts what it took.
func (p *pass) closeEvaluation(ctx context.Context) {
	if p.evaluation != nil {
		meter.FromContext(ctx).Evaluated(p.evaluation.Cost())
		p.evaluation.Close()
	}
}

// reserve has the evaluation get as much memory as it can need. One worker waits for that, and holds nothing meanwhile, so
// somebody always goes on; the keys of all others go back to the queue, with ErrNoMemory, and come when it is their turn to wait.
func (p *pass) reserve(ctx context.Context) error {
	if p.evaluation.TryReserve() {
		p.r.scarcity.Forget(p.key)
		return nil
	}
	if !p.r.scarcity.TryAcquire(p.key) {
		return ErrNoMemory
	}
	err := p.evaluation.Reserve(ctx)
	if next, ok := p.r.scarcity.Release(); ok {
		p.r.Queue.AddPatient(next)
	}
	return err //nolint:wrapcheck // It says what was waited for.
}

// isOutOfMemory tells whether the evaluation ended for want of memory that all evaluations share. Nothing is said about it: the
// rule can do nothing about it.
func (p *pass) isOutOfMemory(ctx context.Context) bool {
	if !p.evaluation.Starved() {
		return false
	}
	if p.memory != nil {
		p.memory.OutOfMemory = true
	}
	logr.FromContextOrDiscard(ctx).V(2).Info("The evaluations together need more memory than there is; this one is tried again")
	return true
}

// planNext keeps when this reconcile was and what it saw as now, and requeues the parent for when something changes that the
// rule computed from now. The queue keeps the first of several times for one key; one that no longer has a reason costs an
// evaluation and nothing more.
func (p *pass) planNext() {
	due := pacing.DueAt(p.seen, p.evaluation.WakeAt(), p.outcome.RequeueAfter)
	if !due.IsZero() {
		p.RequeueAfter(due.Sub(p.Now()))
	}
	if p.reader.incomplete || p.evaluation.Starved() {
		return // this reconcile does not count: the next one comes as soon as it can
	}
	// The text outlives the parent as it is now.
	next := pacing.Schedule{Requested: strings.Clone(request.ReconcileAt(p.parent))}
	if next.Interval = p.outcome.MinInterval; next.Interval > 0 {
		next.Started = p.started
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
