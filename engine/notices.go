package engine

import (
	"maps"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"

	"kanon.dev/kanon/engine/queue"
	"kanon.dev/kanon/engine/source"
	"kanon.dev/kanon/rules"
)

// maxEventMessage is how many bytes the message of an Event can have (events.k8s.io/v1, field note).
const maxEventMessage = 1024

// notices tells people by Events what is in the way, once for each cause.
type notices struct {
	recorder record.EventRecorder

	mu sync.Mutex
	// told has the trouble that a parent's Event told of last. Guarded by mu.
	told map[queue.Key]told
}

// told is what an Event told of a parent, which may have been made anew since.
type told struct {
	uid types.UID
	state
}

func newNotices(recorder record.EventRecorder) *notices {
	return &notices{recorder: recorder, told: make(map[queue.Key]told)}
}

// isNew tells whether an Event is due because a parent stalls, or cannot go, or does so for another
// reason. A parent whose condition, of a type with the rule's prefix, said so already,
// before a restart, needs none.
func (n *notices) isNew(k queue.Key, parent *unstructured.Unstructured, prefix string, s state) bool {
	n.mu.Lock()
	now := told{uid: parent.GetUID(), state: s}
	before, known := n.told[k]
	worth := s.condition == conditionStalled || s.reason == reasonDeleting
	if worth {
		n.told[k] = now
	} else {
		delete(n.told, k)
	}
	n.mu.Unlock()
	if !worth || before == now {
		return false
	}
	condition := findCondition(parent, prefix+s.condition)
	return known || condition == nil || condition["message"] != s.message
}

// forget drops what is known of a parent that is gone.
func (n *notices) forget(k queue.Key) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.told, k)
}

func (n *notices) addKeys(rule string, found queue.Keys) {
	n.mu.Lock()
	defer n.mu.Unlock()
	queue.AddOf(n.told, rule, found)
}

// forgetRule drops what is known of the parents of a rule that stopped.
func (n *notices) forgetRule(id string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	maps.DeleteFunc(n.told, func(k queue.Key, _ told) bool { return k.Rule == id })
}

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
		case r.Reason == reasonPruneHeld:
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
		case r.Reason == reasonPruneHeld:
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
	n.event(about, corev1.EventTypeWarning, reasonPruneHeld, "rule "+r.Name+": "+strings.TrimPrefix(r.Message, reasonPruneHeld+": "))
}

// event emits an Event with as much of a message as one can have.
func (n *notices) event(about runtime.Object, eventType, reason, message string) {
	n.recorder.Event(about, eventType, reason, cut(message, maxEventMessage))
}
