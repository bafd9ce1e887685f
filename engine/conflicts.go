package engine

// What the engine tells package feedback, and makes of what that finds.

import (
	"context"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/feedback"
	"kanon.dev/kanon/engine/monitor"
	"kanon.dev/kanon/engine/patching"
	"kanon.dev/kanon/engine/plan"
	"kanon.dev/kanon/rules"
)

// contribute takes in what the parent contributes by patches. It tells whether something is about to be applied for the first time:
// the reconcile that follows that knows how it went.
func (p *pass) contribute(ctx context.Context) (awaited bool) {
	problems, awaited := p.engine.patches.Contribute(ctx, p.contributor(), p.outcome.Patches)
	for _, problem := range problems {
		p.add(p.redacted(problem))
	}
	return awaited
}

func (p *pass) contributor() patching.Contributor {
	return patching.Contributor{
		Op: p.op, Key: p.key, Parent: p.parent, Provenance: p.provenance,
		Select: func(l plan.Lookup, q rules.Query) ([]*unstructured.Unstructured, error) {
			found, _, err := p.reader.look(l, q)
			return found, err
		},
	}
}

// checkLoop adds the loop that the reconcile is part of to the problems, and requeues the parent for when the pause is over.
func (p *pass) checkLoop() {
	loop := p.provenance.Loop()
	if loop == nil {
		return
	}
	p.add(conditions.OfLoop(loop, p.engine.running.NameOf))
	p.requeueAfter(loop.Wait(p.started) + time.Millisecond)
}

// isOwnStatusEvent tells whether a change of a parent is what rules wrote to its status, and nothing else.
func isOwnStatusEvent(event monitor.Event) bool {
	if event.Old == nil || event.New == nil || event.Old.UID() != event.New.UID() {
		return false
	}
	before, after, ok := event.Whole()
	return ok && feedback.IsStatusWrite(before, after, isStatusManager)
}

// isStatusManager tells whether a field manager is that of a rule's status.
func isStatusManager(manager string) bool { return strings.HasPrefix(manager, plan.StatusManagers) }
