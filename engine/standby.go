package engine

import (
	"context"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"

	"kanon.dev/kanon/engine/operator"
)

// leads reports whether the engine may write. Once true, it stays true: an engine that loses the lead ends.
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

// onceLeading runs a writer in the group once the engine may write.
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

// standby syncs the informers of the rules that would run if this engine led. There are no operators before it leads:
// events enqueue nothing and nothing is remembered of any parent. The records are read only once the former leader no
// longer writes them. The engine then starts as after a restart, with informers that have synced.
func (l *catalogLoop) standby(ctx context.Context) {
	e := l.engine
	if e.keys.Keyring() == nil {
		return // without the keys, children cannot be recognised
	}
	next := make(map[string]*operator.Operator)
	for _, rule := range l.catalog.Rules() {
		if rule.Program == nil {
			continue
		}
		op := l.awaiting[rule.ID]
		if op == nil || op.Program != rule.Program || op.IsOutdated(e.options.Mapper) {
			var err error
			if op, err = operator.New(rule.ID, rule.Name, rule.Program, e.options.Mapper, nil); err != nil {
				logr.FromContextOrDiscard(ctx).V(1).Info("Cannot plan a rule: a kind was removed meanwhile", "rule", rule.Name.String(), "reason", err.Error())
				continue // the mapper has put the change into the inbox
			}
			e.monitors.Watch(op.ID, op.Informers()...)
		}
		next[rule.ID] = op
	}
	for id := range l.awaiting {
		if next[id] == nil {
			e.monitors.Watch(id)
		}
	}
	l.awaiting = next
}

// dropAwaiting stops, once the engine leads, the informers of rules that do not run. The operators of the other rules
// use the same informers.
func (l *catalogLoop) dropAwaiting(running *operator.Set) {
	for id := range l.awaiting {
		if running.ByID[id] == nil {
			l.engine.monitors.Watch(id)
		}
	}
	l.awaiting = nil
}
