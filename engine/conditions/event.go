package conditions

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
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

// Emit emits an Event of a rule about an object.
func Emit(to Recorder, rule types.NamespacedName, about runtime.Object, eventType, reason, format string, args ...any) {
	to.AnnotatedEventf(about, map[string]string{AnnotationRule: rule.String()}, eventType, reason, format, args...)
}
