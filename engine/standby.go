package engine

import (
	"context"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"

	"kanon.dev/kanon/engine/catalog"
	"kanon.dev/kanon/engine/operator"
	"kanon.dev/kanon/engine/plan"
)

// leads tells whether the engine may write. It stays so: whoever leads no more ends.
func (e *Engine) leads() bool {
	if e.options.Leading == nil {
		return true
	}
	select {
	case <-e.options.Leading:
		return true
	default:
		return false
	}
}

// onceLeading runs in the group what writes, once the engine may write.
func (e *Engine) onceLeading(ctx context.Context, group *errgroup.Group, run func()) {
	group.Go(func() error {
		if e.options.Leading != nil {
			select {
			case <-e.options.Leading:
			case <-ctx.Done():
				return nil
			}
		}
		run()
		return nil
	})
}

// standby has the informers of the rules fill that would run if this engine led. There are no operators before it does: events
// enqueue nothing, nothing is remembered of any parent, and the records are read when the one that leads now writes them no more. It
// begins then as after a restart, with informers that have filled.
func (p *publisher) standby(ctx context.Context, c *catalog.Catalog) {
	e := p.engine
	if e.keys.Keyring() == nil {
		return // which of the objects in view are children shows by the keys
	}
	next := make(map[string]*operator.Operator)
	var ops, started []*operator.Operator
	for _, rule := range c.Rules() {
		if rule.Program == nil {
			continue
		}
		op := p.awaiting[rule.ID]
		if op == nil || op.Program != rule.Program || op.IsOutdated(e.options.Mapper) {
			var err error
			if op, err = operator.New(rule.ID, rule.Name, rule.Program, e.options.Mapper, nil); err != nil {
				logr.FromContextOrDiscard(ctx).V(1).Info("Cannot plan a rule: a kind was removed meanwhile", "rule", rule.Name.String(), "reason", err.Error())
				continue // the mapper has put the change into the inbox
			}
			started = append(started, op)
		}
		next[rule.ID] = op
		ops = append(ops, op)
	}
	plan.ShareInformers(plansOf(ops), plansOf(started))
	for _, op := range started {
		e.monitors.Watch(op.ID, op.Informers()...)
	}
	for id := range p.awaiting {
		if next[id] == nil {
			e.monitors.Watch(id)
		}
	}
	p.awaiting = next
}

// dropAwaiting releases, once the engine leads, the informers of rules that do not run. Those of the others are taken over by the
// operators, which want the same.
func (p *publisher) dropAwaiting(running *operator.Set) {
	for id := range p.awaiting {
		if running.ByID[id] == nil {
			p.engine.monitors.Watch(id)
		}
	}
	p.awaiting = nil
}
