package status

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
	"kanon.dev/kanon/engine/authorization"
	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/parents"
	"kanon.dev/kanon/engine/request"
)

// checkEvents checks whether the rule may emit what it renders in spec.events. If not, nothing counts as emitted.
func (s *Report) checkEvents(ctx context.Context) []conditions.Problem {
	if len(s.result.Events) == 0 {
		return nil
	}
	err := s.Reads.CheckEvents(ctx, s.Op.Identity, cmp.Or(s.Object.GetNamespace(), metav1.NamespaceDefault))
	if err == nil {
		return nil
	}
	s.muted = true
	s.Changes.RequeueAfter(authorization.Lifetime)
	return []conditions.Problem{conditions.OfWrite("spec.events", err)}
}

// emitEvents emits the Events of spec.events that are due.
func (s *Report) emitEvents() {
	if s.Memory == nil || s.muted {
		return
	}
	rendered := s.result.Events
	if s.isReported() {
		rendered = slices.Clone(rendered)
		for i := range rendered {
			rendered[i].Finalizing = false // it was already finalizing before a restart
		}
	}
	for _, event := range s.Memory.Events.Due(rendered, s.Op.IsNewerThan(s.Object.GetCreationTimestamp().Time)) {
		s.event(s.Object, conditions.EventType(event), event.Reason, event.Message)
	}
}

// isReported reports whether the parent has a condition about its deletion, which was a new generation.
func (s *Report) isReported() bool {
	ready := conditions.Find(s.Object, s.Op.Program.ConditionPrefix+conditions.Ready)
	return ready != nil && ready["observedGeneration"] == s.Object.GetGeneration()
}

// emitSummary emits the Events about what blocks the parent: at once if somebody has to change something; after a while
// if it only waits, and no condition shows that or it blocks a deletion.
func (s *Report) emitSummary(ctx context.Context, summary conditions.Summary) {
	waits := summary.Type == conditions.Reconciling && (summary.Reason == conditions.ReasonDeleting || !s.showsConditions(ctx))
	var stalls, lasts bool
	var after time.Duration
	s.Parents.Update(s.Key, func(state *parents.State) {
		stalls = state.Notice.IsDue(s.Object, s.Op.Program.ConditionPrefix, summary)
		if !waits {
			state.Wait = conditions.Wait{}
			return
		}
		lasts, after = state.Wait.IsDue(s.Object.GetUID(), summary.Reason, s.Now(), s.WaitLimit)
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
		s.Changes.RequeueAfter(after)
	}
}

// answer answers a request for a reconcile, once, if somebody may be waiting for that.
func (s *Report) answer(ctx context.Context, summary conditions.Summary) {
	asked, isNew := request.ReconcileAt(s.Object), false
	s.Parents.Update(s.Key, func(state *parents.State) {
		if isNew = asked != state.Answered; isNew {
			state.Answered = strings.Clone(asked) // the text outlives this version of the parent
		}
	})
	if !isNew || s.NamespaceEnds || !request.WantsAnswer(asked, s.Now()) {
		return
	}
	answer := request.Answer{Rule: s.Op.Name.String(), Request: asked, Outcome: summary.Type, Reason: summary.Reason, Message: summary.Message}
	s.send(ctx, conditions.Cut(answer.String(), conditions.MaxEventMessage))
}

// emit emits the Event about a summary of the parent. In a namespace that is being deleted no Event can be created, so
// there the Event is about the Namespace.
func (s *Report) emit(eventType string, summary conditions.Summary) {
	if !s.NamespaceEnds {
		s.event(s.Object, eventType, summary.Reason, conditions.Cut(summary.Message, conditions.MaxEventMessage))
		return
	}
	namespace := &corev1.ObjectReference{APIVersion: "v1", Kind: "Namespace", Name: s.Object.GetNamespace()}
	message := fmt.Sprintf("rule %s keeps %s: %s", s.Op.Name, mark.RefOf(s.Object), summary.Message)
	s.event(namespace, eventType, summary.Reason, conditions.Cut(message, conditions.MaxEventMessage))
}

func (s *Report) event(about runtime.Object, eventType, reason, message string) {
	conditions.Emit(s.Recorder, s.Op.Name, about, eventType, reason, "%s", message)
}

// send sends the answer to a request. Somebody waits for it, and a Recorder drops Events if it has had many about an
// object or has many to send. So send creates the Event itself, and uses the Recorder only if that fails.
func (s *Report) send(ctx context.Context, message string) {
	namespace, now := cmp.Or(s.Object.GetNamespace(), metav1.NamespaceDefault), metav1.NewTime(s.Now())
	event := &corev1.Event{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Event"},
		ObjectMeta: metav1.ObjectMeta{
			GenerateName: s.Object.GetName() + ".", Namespace: namespace, Annotations: map[string]string{conditions.AnnotationRule: s.Op.Name.String()},
		},
		InvolvedObject: corev1.ObjectReference{
			APIVersion: s.Object.GetAPIVersion(), Kind: s.Object.GetKind(), Namespace: s.Object.GetNamespace(), Name: s.Object.GetName(),
			UID: s.Object.GetUID(), ResourceVersion: s.Object.GetResourceVersion(),
		},
		Type: corev1.EventTypeNormal, Reason: request.ReasonReconciled, Message: message, Count: 1, FirstTimestamp: now, LastTimestamp: now,
		Source: corev1.EventSource{Component: conditions.EventComponent}, ReportingController: conditions.EventComponent,
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(event)
	if err == nil {
		events := s.Client.Resource(corev1.SchemeGroupVersion.WithResource("events")).Namespace(namespace)
		_, err = events.Create(ctx, &unstructured.Unstructured{Object: fields}, metav1.CreateOptions{})
	}
	if err != nil {
		logr.FromContextOrDiscard(ctx).V(2).Info("the answer to a request could not be created, and is left to the recorder of Events", "reason", err.Error())
		s.event(s.Object, corev1.EventTypeNormal, request.ReasonReconciled, message)
	}
}

// showsConditions reports whether Kanon's conditions for the rule are on the parent.
func (s *Report) showsConditions(ctx context.Context) bool {
	shape, err := s.conditionsShape(ctx)
	return err == nil && (shape.ListMap || s.mergesConditions(shape, s.result.Status)) && !s.yields
}
