package conditions

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/rules/program/parentstatus"
)

// MaxEventMessage is how many bytes the message of an Event can have (events.k8s.io/v1, field note).
const MaxEventMessage = 1024

// Notice is the trouble that a parent's last Event was about. The zero value is of no Event.
type Notice struct {
	// uid is the parent's, which may have been deleted and created again since.
	uid     types.UID
	summary Summary
}

// IsDue takes in the summary of a parent, and tells whether an Event is due: because the parent stalls, or does so for another
// reason. A parent whose condition, of a type with the rule's prefix, has said so since before a restart needs none. A timeout
// is one Event, whatever its message says then.
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

// Wait is since when a parent waits for what takes an Event to report, and what an Event said about it. The zero value is of a
// parent that does not wait.
type Wait struct {
	// uid is the parent's, which may have been deleted and created again since.
	uid types.UID
	// since is when the wait began. reason is that of the last Event about it, and reported when that was emitted; empty and
	// zero: there was none.
	since, reported time.Time
	reason          string
}

// IsDue takes in that a parent waits for a reason, and tells whether an Event is due: once after limit, and again for another
// reason, but never sooner than limit after the one before. after is when the parent has to be reconciled again for that; zero: no Event
// follows.
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
	// A clock that was set back makes nobody wait for longer than the limit.
	if after = min(from.Add(limit).Sub(now), limit); after > 0 {
		return false, after
	}
	w.reason, w.reported = reason, now
	return true, 0
}

// Emitted has, for each of spec.events, what is known of it for one parent. The zero value knows nothing.
type Emitted []parentstatus.Event

// Due takes in what spec.events rendered and lists the Events to emit: each when its when turns true, and when its text
// changes. The first call for a parent that is older than the rule only takes in how things are, so that neither a restart nor a
// new rule reports what happened long ago. It does report what is so because the parent is being finalized: that has no later
// call that could.
func (e *Emitted) Due(rendered []parentstatus.Event, isOld bool) []parentstatus.Event {
	if len(rendered) == 0 {
		return nil
	}
	if len(*e) != len(rendered) {
		*e = make(Emitted, len(rendered))
		if !isOld {
			for i := range *e {
				(*e)[i].State = parentstatus.EventOff
			}
		}
	}
	var due []parentstatus.Event
	for i, event := range rendered {
		before := (*e)[i]
		if event.State == parentstatus.EventUnknown {
			continue // it counts as it did before
		}
		(*e)[i] = event
		(*e)[i].Message = strings.Clone(event.Message) // it may be a part of the parent's text, which it outlives
		isNew := before.State != parentstatus.EventUnknown || event.Finalizing
		before.Finalizing = event.Finalizing
		if event.State == parentstatus.EventOn && isNew && event != before {
			due = append(due, event)
		}
	}
	return due
}

// EventType is Normal unless the event is a Warning.
func EventType(event parentstatus.Event) string {
	if event.Type == corev1.EventTypeWarning {
		return corev1.EventTypeWarning
	}
	return corev1.EventTypeNormal
}

// EventComponent is what Kanon's Events have as their source.
const EventComponent = "kanon"

// AnnotationRule names on an Event the rule that it is of, as NAMESPACE/NAME: several rules may have one parent.
const AnnotationRule = "kanon.dev/rule-name"

// Recorder takes Events. A record.EventRecorder of client-go implements it.
type Recorder interface {
	AnnotatedEventf(object runtime.Object, annotations map[string]string, eventType, reason, format string, args ...any)
}

// Emit emits an Event of a rule about an object.
func Emit(to Recorder, rule types.NamespacedName, about runtime.Object, eventType, reason, format string, args ...any) {
	to.AnnotatedEventf(about, map[string]string{AnnotationRule: rule.String()}, eventType, reason, format, args...)
}
