package engine

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/parents"
)

// emitOfRule emits those of spec.events that are due.
func (p *pass) emitOfRule() {
	if p.memory == nil {
		return
	}
	for _, event := range p.memory.Events.Due(p.outcome.Events, p.op.isNewerThan(p.parent.GetCreationTimestamp().Time)) {
		p.recorder.Event(p.parent, conditions.EventType(event), event.Reason, event.Message)
	}
}

// isNewerThan tells whether the rule was started after an object was created. The API server reports that time in whole
// seconds; within one second the object counts as the later one.
func (op *operator) isNewerThan(created time.Time) bool {
	return created.Before(op.started.Truncate(time.Second))
}

// emitSummary emits the Events about what is in the way of the parent: at once what somebody has to change, and what it waits
// for if that lasts and no condition shows it.
func (p *pass) emitSummary(ctx context.Context, s conditions.Summary) {
	waits := s.Type == conditions.Reconciling && s.Reason != conditions.ReasonDeleting && !p.showsConditions(ctx)
	var stalls, lasts bool
	var after time.Duration
	p.engine.parents.Update(p.key, func(state *parents.State) {
		stalls = state.Notice.IsDue(p.parent, p.op.program.ConditionPrefix(), s)
		if !waits {
			state.Wait = conditions.Wait{}
			return
		}
		lasts, after = state.Wait.IsDue(p.parent.GetUID(), s.Reason, p.cluster.now(), p.engine.options.WaitLimit)
	})
	if stalls {
		p.emit(corev1.EventTypeWarning, s)
	}
	switch {
	case lasts && s.Reason == conditions.ReasonProgressing:
		p.emit(corev1.EventTypeNormal, s) // all that can be done is done
	case lasts:
		p.emit(corev1.EventTypeWarning, s)
	case after > 0:
		p.requeueAfter(after)
	}
}

// emit emits the Event about a summary of the parent. In a namespace that is being deleted no Event can be created, so there
// it is about the Namespace.
func (p *pass) emit(eventType string, s conditions.Summary) {
	if !p.namespaceEnds {
		p.recorder.Event(p.parent, eventType, s.Reason, conditions.Cut(s.Message, conditions.MaxEventMessage))
		return
	}
	namespace := &corev1.ObjectReference{APIVersion: "v1", Kind: "Namespace", Name: p.parent.GetNamespace()}
	message := fmt.Sprintf("rule %s keeps %s: %s", p.op.name, mark.RefOf(p.parent), s.Message)
	p.recorder.Event(namespace, eventType, s.Reason, conditions.Cut(message, conditions.MaxEventMessage))
}

// showsConditions tells whether Kanon's conditions for the rule are on the parent.
func (p *pass) showsConditions(ctx context.Context) bool {
	shape, err := p.conditionsShape(ctx)
	return err == nil && (shape.ListMap || p.mergesConditions(shape, p.outcome.Status)) && !p.yields
}
