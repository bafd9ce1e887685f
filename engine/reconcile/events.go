package reconcile

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
func (s *statusWriter) emitOfRule() {
	if s.memory == nil {
		return
	}
	for _, event := range s.memory.Events.Due(s.outcome.Events, s.op.IsNewerThan(s.parent.GetCreationTimestamp().Time)) {
		s.Recorder.Event(s.parent, conditions.EventType(event), event.Reason, event.Message)
	}
}

// emitSummary emits the Events about what is in the way of the parent: at once what somebody has to change, and what it waits
// for if that lasts and no condition shows it.
func (s *statusWriter) emitSummary(ctx context.Context, summary conditions.Summary) {
	waits := summary.Type == conditions.Reconciling && summary.Reason != conditions.ReasonDeleting && !s.showsConditions(ctx)
	var stalls, lasts bool
	var after time.Duration
	s.parents.Update(s.key, func(state *parents.State) {
		stalls = state.Notice.IsDue(s.parent, s.op.Program.ConditionPrefix, summary)
		if !waits {
			state.Wait = conditions.Wait{}
			return
		}
		lasts, after = state.Wait.IsDue(s.parent.GetUID(), summary.Reason, s.Now(), s.waitLimit)
	})
	if stalls {
		s.emit(corev1.EventTypeWarning, summary)
	}
	switch {
	case lasts && summary.Reason == conditions.ReasonProgressing:
		s.emit(corev1.EventTypeNormal, summary) // all that can be done is done
	case lasts:
		s.emit(corev1.EventTypeWarning, summary)
	case after > 0:
		s.requeueAfter(after)
	}
}

// emit emits the Event about a summary of the parent. In a namespace that is being deleted no Event can be created, so there
// it is about the Namespace.
func (s *statusWriter) emit(eventType string, summary conditions.Summary) {
	if !s.namespaceEnds {
		s.Recorder.Event(s.parent, eventType, summary.Reason, conditions.Cut(summary.Message, conditions.MaxEventMessage))
		return
	}
	namespace := &corev1.ObjectReference{APIVersion: "v1", Kind: "Namespace", Name: s.parent.GetNamespace()}
	message := fmt.Sprintf("rule %s keeps %s: %s", s.op.Name, mark.RefOf(s.parent), summary.Message)
	s.Recorder.Event(namespace, eventType, summary.Reason, conditions.Cut(message, conditions.MaxEventMessage))
}

// showsConditions tells whether Kanon's conditions for the rule are on the parent.
func (s *statusWriter) showsConditions(ctx context.Context) bool {
	shape, err := s.conditionsShape(ctx)
	return err == nil && (shape.ListMap || s.mergesConditions(shape, s.outcome.Status)) && !s.yields
}
