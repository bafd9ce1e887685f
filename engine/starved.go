package engine

import (
	"context"
	"crypto/rand"

	"github.com/go-logr/logr"

	"kanon.dev/kanon/rules"
)

// evaluate begins the evaluation of a pass. One that ended for want of memory is tried
// again with as much as it can need, for which it waits: it holds nothing meanwhile,
// so somebody always goes on.
func (p *pass) evaluate(ctx context.Context, finalizing bool) error {
	p.evaluation = p.op.program.Evaluate(ctx, rules.Input{
		Parent: p.parent, Now: p.now, Reader: p, Random: rand.Reader, Finalizing: finalizing, Missing: p.op.kinds.missing,
		Memory: p.options.Memory,
	})
	if p.memory == nil || !p.memory.starved {
		return nil
	}
	p.memory.starved = false
	return p.evaluation.Reserve(ctx)
}

// starved tells whether the evaluation ended for want of memory that all evaluations
// share. Nothing is said about it: the rule can do nothing about it.
func (p *pass) starved(ctx context.Context) bool {
	if !p.evaluation.Starved() {
		return false
	}
	if p.memory != nil {
		p.memory.starved = true
	}
	logr.FromContextOrDiscard(ctx).V(2).Info("The evaluations together need more memory than there is; this one is tried again")
	return true
}
