package engine

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/record"

	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/source"
	"kanon.dev/kanon/rules"
)

// notices emits the Events about rules.
type notices struct {
	recorder record.EventRecorder
}

func newNotices(recorder record.EventRecorder) *notices { return &notices{recorder: recorder} }

// reportFile emits Events about the rules of a file, which is no object: at their records,
// as far as they have one. What was accepted at the start needs none.
func (n *notices) reportFile(before, now source.Report, recordOf func(id string) *corev1.ObjectReference) {
	refused := make(map[string]bool)
	for _, r := range before.Rules {
		refused[r.ID] = !r.Ready
	}
	for _, r := range now.Rules {
		record := recordOf(r.ID)
		switch {
		case record == nil, slices.Contains(before.Rules, r):
		case r.Reason == conditions.ReasonPruneHeld:
			n.reportHeld(record, r)
		case !r.Ready:
			n.event(record, corev1.EventTypeWarning, "RulesRefused", r.Name+": "+r.Message)
		case refused[r.ID]:
			n.event(record, corev1.EventTypeNormal, "RulesAccepted", r.Name+": "+r.Message)
		}
	}
}

// report emits Events about a ConfigMap or a Rule object whose verdict changed.
func (n *notices) report(origin source.Origin, report source.Report) {
	holder := &corev1.ObjectReference{
		APIVersion: "v1", Kind: "ConfigMap",
		Namespace: origin.ConfigMap.Namespace, Name: origin.ConfigMap.Name, UID: origin.UID,
	}
	if origin.Rule.Name != "" {
		holder.APIVersion, holder.Kind = rules.APIVersion, rules.RuleKind
		holder.Namespace, holder.Name = origin.Rule.Namespace, origin.Rule.Name
	}
	if report.Ready {
		n.event(holder, corev1.EventTypeNormal, "RulesAccepted", report.Message)
		return
	}
	messages := []string{report.Message}
	refused := len(report.Problems) > 0
	for _, r := range report.Rules {
		switch {
		case r.Reason == conditions.ReasonPruneHeld:
			n.reportHeld(holder, r)
		case !r.Ready:
			refused = true
			messages = append(messages, r.Name+": "+r.Message)
		}
	}
	if refused {
		n.event(holder, corev1.EventTypeWarning, "RulesRefused", strings.Join(messages, "; "))
	}
}

// reportHeld emits the Event about a rule whose new revision would delete more than it may.
func (n *notices) reportHeld(about *corev1.ObjectReference, r source.RuleReport) {
	n.event(about, corev1.EventTypeWarning, conditions.ReasonPruneHeld, "rule "+r.Name+": "+strings.TrimPrefix(r.Message, conditions.ReasonPruneHeld+": "))
}

// event emits an Event with as much of a message as one can have.
func (n *notices) event(about runtime.Object, eventType, reason, message string) {
	n.recorder.Event(about, eventType, reason, conditions.Cut(message, conditions.MaxEventMessage))
}
