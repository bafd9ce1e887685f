package catalog

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"

	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/source"
	"kanon.dev/kanon/rules/syntax"
)

const (
	reasonAccepted = "RulesAccepted"
	reasonRefused  = "RulesRefused"
)

// events emits the Events about rules.
type events struct {
	recorder record.EventRecorder
	// recordOf returns the record of a rule by its id; nil if there is none.
	recordOf func(id string) *corev1.ObjectReference
}

// objectChanged emits the Events about a ConfigMap or a Rule object with a new report.
func (e events) objectChanged(origin source.Origin, report source.Report) {
	about := &corev1.ObjectReference{
		APIVersion: "v1", Kind: "ConfigMap",
		Namespace: origin.ConfigMap.Namespace, Name: origin.ConfigMap.Name, UID: origin.UID,
	}
	if origin.Rule.Name != "" {
		about.APIVersion, about.Kind = syntax.APIVersion, syntax.RuleKind
		about.Namespace, about.Name = origin.Rule.Namespace, origin.Rule.Name
	}
	if report.Ready {
		e.event(about, corev1.EventTypeNormal, reasonAccepted, report.Message)
		return
	}
	messages := []string{report.Message}
	refused := len(report.Problems) > 0
	for _, r := range report.Rules {
		switch {
		case r.Reason != "":
			e.failed(about, r)
		case !r.Ready:
			refused = true
			messages = append(messages, r.Name+": "+r.Message)
		}
	}
	if refused {
		e.event(about, corev1.EventTypeWarning, reasonRefused, strings.Join(messages, "; "))
	}
}

// fileChanged emits the Events about the rules of a file with a new report. A file is not an object, so the Events are
// about the records of the rules. A rule that is accepted at the start needs none.
func (e events) fileChanged(before, report source.Report) {
	refused := make(map[string]bool)
	for _, r := range before.Rules {
		refused[r.ID] = !r.Ready
	}
	for _, r := range report.Rules {
		about := e.recordOf(r.ID)
		switch {
		case about == nil, slices.Contains(before.Rules, r):
		case r.Reason != "":
			e.failed(about, r)
		case !r.Ready:
			e.event(about, corev1.EventTypeWarning, reasonRefused, r.Name+": "+r.Message)
		case refused[r.ID]:
			e.event(about, corev1.EventTypeNormal, reasonAccepted, r.Name+": "+r.Message)
		}
	}
}

// failed emits the Event about a rule that does not run for a reason of its own, such as PruneHeld.
func (e events) failed(about *corev1.ObjectReference, r source.RuleReport) {
	e.event(about, corev1.EventTypeWarning, r.Reason, "rule "+r.Name+": "+strings.TrimPrefix(r.Message, r.Reason+": "))
}

// event emits an Event, with its message cut to the maximum length.
func (e events) event(about *corev1.ObjectReference, eventType, reason, message string) {
	e.recorder.Event(about, eventType, reason, conditions.Cut(message, conditions.MaxEventMessage))
}
