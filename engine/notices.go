package engine

import (
	"maps"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"

	"kanon.dev/kanon/engine/queue"
	"kanon.dev/kanon/engine/source"
	"kanon.dev/kanon/rules"
)

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

// tell emits an Event when a parent stalls, or cannot go, or does so for another
// reason. A parent whose condition, of a type with the rule's prefix, said so already,
// before a restart, needs none.
func (n *notices) tell(k queue.Key, parent *unstructured.Unstructured, prefix string, s state) {
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
		return
	}
	if condition := findCondition(parent, prefix+s.condition); !known && condition != nil && condition["message"] == s.message {
		return
	}
	n.recorder.Event(parent, corev1.EventTypeWarning, s.reason, s.message)
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
		case !r.Ready:
			n.recorder.Event(record, corev1.EventTypeWarning, "RulesRefused", joinMessages([]string{r.Name + ": " + r.Message}))
		case refused[r.ID]:
			n.recorder.Event(record, corev1.EventTypeNormal, "RulesAccepted", joinMessages([]string{r.Name + ": " + r.Message}))
		}
	}
}

// report emits an Event about a ConfigMap or a Rule object whose verdict changed.
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
		n.recorder.Event(holder, corev1.EventTypeNormal, "RulesAccepted", report.Message)
		return
	}
	messages := []string{report.Message}
	for _, r := range report.Rules {
		if !r.Ready {
			messages = append(messages, r.Name+": "+r.Message)
		}
	}
	n.recorder.Event(holder, corev1.EventTypeWarning, "RulesRefused", joinMessages(messages))
}
