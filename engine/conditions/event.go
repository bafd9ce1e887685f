package conditions

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/rules/program"
)

// MaxEventMessage is the maximum length of an Event's message in bytes (events.k8s.io/v1, field note).
const MaxEventMessage = 1024

// EventComponent is the source of Kanon's Events.
const EventComponent = "kanon"

// AnnotationRule names, on an Event, the rule that emitted it, as NAMESPACE/NAME: several rules may have the same
// parent.
const AnnotationRule = "kanon.dev/rule-name"

// Recorder records Events. A record.EventRecorder of client-go implements it.
type Recorder interface {
	AnnotatedEventf(object runtime.Object, annotations map[string]string, eventType, reason, format string, args ...any)
}

// Emit emits an Event of a rule about an object. It cuts the message, which may quote any value.
func Emit(to Recorder, rule types.NamespacedName, about runtime.Object, eventType, reason, format string, args ...any) {
	message := Cut(fmt.Sprintf(format, args...), MaxEventMessage)
	to.AnnotatedEventf(about, map[string]string{AnnotationRule: rule.String()}, eventType, reason, "%s", message)
}

// Notice is what the last Event about a stalled parent reported. The zero value stands for no Event.
type Notice struct {
	// uid is the parent's, which may have been recreated since.
	uid     types.UID
	summary Summary
}

// IsDue records the summary of a parent, and reports whether an Event is due: because the parent is stalled now, or for
// another reason than before. No Event is due if the parent's condition, of a type with the rule's prefix, has said so
// since before a restart. A timeout causes one Event, even if its message changes.
func (n *Notice) IsDue(parent *unstructured.Unstructured, prefix string, s Summary) bool {
	before := *n
	*n = Notice{}
	if s.Type != Stalled {
		return false
	}
	*n = Notice{uid: parent.GetUID(), summary: s}
	condition := Find(parent, prefix+s.Type)
	switch {
	case before == *n:
		return false
	case s.Reason == ReasonFinalizeTimeout && before == Notice{}:
		return condition == nil || condition["reason"] != s.Reason
	case s.Reason == ReasonFinalizeTimeout:
		return before.uid != n.uid || before.summary.Reason != s.Reason
	}
	return before != Notice{} || condition == nil || condition["message"] != s.Message
}

// Wait is since when a parent has been waiting, and what the last Event about that reported. The zero value stands for
// a parent that does not wait.
type Wait struct {
	// uid is the parent's, which may have been recreated since.
	uid types.UID
	// since is when the wait began. reason is that of the last Event about it, which was emitted at reported; empty and
	// zero if there was none.
	since, reported time.Time
	reason          string
}

// IsDue records that a parent waits for a reason, and reports whether an Event is due: once after limit, and again for
// another reason, but at least limit after the previous one. after is when the parent must be reconciled again for the
// Event; zero if none follows.
func (w *Wait) IsDue(uid types.UID, reason string, now time.Time, limit time.Duration) (due bool, after time.Duration) {
	if w.uid != uid || w.since.IsZero() {
		*w = Wait{uid: uid, since: now}
	}
	from := w.since
	if w.reason != "" {
		from = w.reported
	}
	if w.reason == reason {
		return false, 0
	}
	// If the clock was set back, the wait is still no longer than the limit.
	if after = min(from.Add(limit).Sub(now), limit); after > 0 {
		return false, after
	}
	w.reason, w.reported = reason, now
	return true, 0
}

// Emitted has the last state of each of spec.events for one parent. The zero value knows nothing.
type Emitted []program.Event

// Due records what spec.events rendered, and returns the Events to emit: each when its condition becomes true, and when
// its text changes. The first call for a parent that is older than the rule only records the state, so that neither a
// restart nor a new rule reports what happened long ago. It does return an Event that is about the finalization of the
// parent, since no later call could.
func (e *Emitted) Due(rendered []program.Event, isOld bool) []program.Event {
	if len(rendered) == 0 {
		return nil
	}
	if len(*e) != len(rendered) {
		*e = make(Emitted, len(rendered))
		if !isOld {
			for i := range *e {
				(*e)[i].State = program.EventOff
			}
		}
	}
	var due []program.Event
	for i, event := range rendered {
		before := (*e)[i]
		if event.State == program.EventUnknown {
			continue // its last state stays
		}
		(*e)[i] = event
		(*e)[i].Message = strings.Clone(event.Message) // it may be part of the parent's text, which it outlives
		isNew := before.State != program.EventUnknown || event.Finalizing
		before.Finalizing = event.Finalizing
		if event.State == program.EventOn && isNew && event != before {
			due = append(due, event)
		}
	}
	return due
}

// EventType returns Normal unless the event is a Warning.
func EventType(event program.Event) string {
	if event.Type == corev1.EventTypeWarning {
		return corev1.EventTypeWarning
	}
	return corev1.EventTypeNormal
}
