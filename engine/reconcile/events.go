package reconcile

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/tenant"
)

// checkEvents checks whether the rule may emit what it renders in spec.events. If not, nothing counts as emitted.
func (s *report) checkEvents(ctx context.Context) []conditions.Problem {
	if len(s.result.Events) == 0 {
		return nil
	}
	err := s.p.r.Reads.CheckEvents(ctx, s.p.op.Identity, cmp.Or(s.p.parent.GetNamespace(), metav1.NamespaceDefault))
	if err == nil {
		return nil
	}
	s.muted = true
	s.p.requeueAfter(tenant.Lifetime)
	return []conditions.Problem{conditions.OfWrite("spec.events", err)}
}

// emitEvents emits the Events of spec.events that are due.
func (s *report) emitEvents() {
	if s.p.memory == nil || s.muted {
		return
	}
	rendered := s.result.Events
	if s.isReported() {
		rendered = slices.Clone(rendered)
		for i := range rendered {
			rendered[i].Finalizing = false // it was already finalizing before a restart
		}
	}
	for _, event := range s.p.memory.Events.Due(rendered, s.p.op.IsNewerThan(s.p.parent.GetCreationTimestamp().Time)) {
		s.event(s.p.parent, conditions.EventType(event), event.Reason, event.Message)
	}
}

// isReported reports whether the parent has a condition about its deletion, which was a new generation.
func (s *report) isReported() bool {
	ready := conditions.Find(s.p.parent, s.p.op.Program.ConditionPrefix+conditions.Ready)
	return ready != nil && ready["observedGeneration"] == s.p.parent.GetGeneration()
}

// emitSummary emits the Events about what blocks the parent: at once if somebody has to change something; after a while
// if it only waits, and no condition shows that or it blocks a deletion.
func (s *report) emitSummary(ctx context.Context, summary conditions.Summary) {
	waits := summary.Type == conditions.Reconciling && (summary.Reason == conditions.ReasonDeleting || !s.showsConditions(ctx))
	var stalls, lasts bool
	var after time.Duration
	s.p.r.Parents.Update(s.p.key, func(state *conditions.State) {
		stalls = state.Notice.IsDue(s.p.parent, s.p.op.Program.ConditionPrefix, summary)
		if !waits {
			state.Wait = conditions.Wait{}
			return
		}
		lasts, after = state.Wait.IsDue(s.p.parent.GetUID(), summary.Reason, s.p.r.Now(), s.p.r.WaitLimit)
	})
	if stalls {
		s.emit(corev1.EventTypeWarning, summary)
	}
	switch {
	case lasts && summary.Reason == conditions.ReasonProgressing:
		s.emit(corev1.EventTypeNormal, summary) // nothing else can be done
	case lasts:
		s.emit(corev1.EventTypeWarning, summary)
	case after > 0:
		s.p.requeueAfter(after)
	}
}

// answer answers a request for a reconcile, once, if somebody may be waiting for that.
func (s *report) answer(ctx context.Context, summary conditions.Summary) {
	asked, isNew := conditions.ReconcileAt(s.p.parent), false
	s.p.r.Parents.Update(s.p.key, func(state *conditions.State) {
		if isNew = asked != state.Answered; isNew {
			state.Answered = strings.Clone(asked) // the text outlives this version of the parent
		}
	})
	if !isNew || s.p.namespaceEnds || !conditions.WantsAnswer(asked, s.p.r.Now()) {
		return
	}
	answer := conditions.Answer{Rule: s.p.op.Name.String(), Request: asked, Outcome: summary.Type, Reason: summary.Reason, Message: summary.Message}
	s.send(ctx, conditions.Cut(answer.String(), conditions.MaxEventMessage))
}

// emit emits the Event about a summary of the parent. In a namespace that is being deleted no Event can be created, so
// there the Event is about the Namespace.
func (s *report) emit(eventType string, summary conditions.Summary) {
	if !s.p.namespaceEnds {
		s.event(s.p.parent, eventType, summary.Reason, summary.Message)
		return
	}
	namespace := &corev1.ObjectReference{APIVersion: "v1", Kind: "Namespace", Name: s.p.parent.GetNamespace()}
	message := fmt.Sprintf("rule %s keeps %s: %s", s.p.op.Name, mark.RefOf(s.p.parent), summary.Message)
	s.event(namespace, eventType, summary.Reason, message)
}

func (s *report) event(about runtime.Object, eventType, reason, message string) {
	conditions.Emit(s.p.r.Recorder, s.p.op.Name, about, eventType, reason, "%s", s.p.names.Text(message))
}

// send sends the answer to a request. Somebody waits for it, and a Recorder drops Events if it has had many about an
// object or has many to send. So send creates the Event itself, and uses the Recorder only if that fails.
func (s *report) send(ctx context.Context, message string) {
	namespace, now := cmp.Or(s.p.parent.GetNamespace(), metav1.NamespaceDefault), metav1.NewTime(s.p.r.Now())
	event := &corev1.Event{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Event"},
		ObjectMeta: metav1.ObjectMeta{
			GenerateName: s.p.parent.GetName() + ".", Namespace: namespace, Annotations: map[string]string{conditions.AnnotationRule: s.p.op.Name.String()},
		},
		InvolvedObject: corev1.ObjectReference{
			APIVersion: s.p.parent.GetAPIVersion(), Kind: s.p.parent.GetKind(), Namespace: s.p.parent.GetNamespace(), Name: s.p.parent.GetName(),
			UID: s.p.parent.GetUID(), ResourceVersion: s.p.parent.GetResourceVersion(),
		},
		Type: corev1.EventTypeNormal, Reason: conditions.ReasonReconciled, Message: message, Count: 1, FirstTimestamp: now, LastTimestamp: now,
		Source: corev1.EventSource{Component: conditions.EventComponent}, ReportingController: conditions.EventComponent,
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(event)
	if err == nil {
		events := s.p.r.Client.Resource(corev1.SchemeGroupVersion.WithResource("events")).Namespace(namespace)
		_, err = events.Create(ctx, &unstructured.Unstructured{Object: fields}, metav1.CreateOptions{})
	}
	if err != nil {
		logr.FromContextOrDiscard(ctx).V(2).Info("the answer to a request could not be created, and is left to the recorder of Events", "reason", err.Error())
		s.event(s.p.parent, corev1.EventTypeNormal, conditions.ReasonReconciled, message)
	}
}

// showsConditions reports whether Kanon's conditions for the rule are on the parent.
func (s *report) showsConditions(ctx context.Context) bool {
	shape, err := s.conditionsShape(ctx)
	return err == nil && (shape.ListMap || s.mergesConditions(shape, s.result.Status)) && !s.yields
}
