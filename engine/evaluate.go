package engine

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/go-logr/logr"

	"kanon.dev/kanon/rules"
)

// memoryPause is after how long a parent that is being deleted is tried again whose
// evaluation found no memory, unless its turn comes before.
const memoryPause = time.Second

// errNoMemory is what ends a reconcile for which there is no memory now. It is no fault
// of anybody.
var errNoMemory = errors.New("no memory to evaluate the rule now")

// evaluate begins the evaluation of a pass. One that ended for want of memory is tried
// again with as much as it can need.
func (p *pass) evaluate(ctx context.Context, finalizing bool) error {
	if p.evaluation != nil {
		p.evaluation.Close()
	}
	p.evaluation = p.op.Program.Evaluate(ctx, rules.Input{
		Parent: p.parent, Now: p.seen, Reader: p.reader, Random: rand.Reader, Finalizing: finalizing, Missing: p.op.Missing(),
		Memory: p.engine.options.Memory,
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

// reserve has the evaluation get as much memory as it can need. One worker waits for
// that, and holds nothing meanwhile, so somebody always goes on; the keys of all others
// go back to the queue, with errNoMemory, and come when it is their turn to wait.
func (p *pass) reserve(ctx context.Context) error {
	if p.evaluation.TryReserve() {
		p.engine.scarcity.Forget(p.key)
		return nil
	}
	if !p.engine.scarcity.TryAcquire(p.key) {
		return errNoMemory
	}
	err := p.evaluation.Reserve(ctx)
	if next, ok := p.engine.scarcity.Release(); ok {
		p.engine.queue.AddPatient(next)
	}
	return err //nolint:wrapcheck // It says what was waited for.
}

// isOutOfMemory tells whether the evaluation ended for want of memory that all evaluations
// share. Nothing is said about it: the rule can do nothing about it.
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
