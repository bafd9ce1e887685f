package eventlog

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/live/follow"
)

// Component is the source component of Kanon's Events.
const Component = conditions.EventComponent

// Event is one occurrence, or a series of them, for one object.
type Event struct {
	Namespace, Name string
	Type, Reason    string
	Object          identity.ID
	// Rule is the rule of the Event, as NAMESPACE/NAME. It is empty if the Event is about a rule, or from an earlier
	// version of Kanon.
	Rule        string
	UID         types.UID
	Message     string
	First, Last time.Time
	Count       int
}

// Log reads the Events of a namespace.
type Log struct {
	Client dynamic.Interface
	// Namespace is empty for all namespaces.
	Namespace string
}

// Watch returns a watch of the Events after a resourceVersion.
func (l Log) Watch(from string) follow.Watch {
	resource := l.Client.Resource(corev1.SchemeGroupVersion.WithResource("events"))
	return follow.Watch{Resource: resource.Namespace(l.Namespace), Options: metav1.ListOptions{FieldSelector: "source=" + Component}, From: from}
}

// List reads the Events, oldest first. version is for Watch.
func (l Log) List(ctx context.Context) (events []Event, version string, err error) {
	w := l.Watch("")
	list, err := w.Resource.List(ctx, w.Options)
	if err != nil {
		return nil, "", fmt.Errorf("list the Events: %w", err)
	}
	for i := range list.Items {
		event, err := Of(&list.Items[i])
		if err != nil {
			return nil, "", err
		}
		events = append(events, event)
	}
	slices.SortStableFunc(events, func(a, b Event) int { return cmp.Or(a.Last.Compare(b.Last), cmp.Compare(a.Name, b.Name)) })
	return events, list.GetResourceVersion(), nil
}

// Of decodes an Event.
func Of(object *unstructured.Unstructured) (Event, error) {
	var event corev1.Event
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &event); err != nil {
		return Event{}, fmt.Errorf("read Event %s/%s: %w", object.GetNamespace(), object.GetName(), err)
	}
	about := event.InvolvedObject
	e := Event{
		Namespace: event.Namespace, Name: event.Name, Type: event.Type, Reason: event.Reason, Message: event.Message,
		UID:   about.UID,
		Rule:  event.Annotations[conditions.AnnotationRule],
		First: event.FirstTimestamp.Time, Last: event.LastTimestamp.Time, Count: max(1, int(event.Count)),
	}
	e.Object.GroupKind = schema.FromAPIVersionAndKind(about.APIVersion, about.Kind).GroupKind()
	e.Object.Namespace, e.Object.Name = about.Namespace, about.Name
	if e.First.IsZero() {
		e.First = event.EventTime.Time
	}
	if e.Last.IsZero() {
		e.Last = e.First
	}
	return e, nil
}

// Filter selects Events. The zero value selects all.
type Filter struct {
	// Types are Normal and Warning, in any case; empty for all.
	Types []string
	// Object is the object of the Events; nil for all.
	Object *identity.ID
}

// Matches reports whether the filter selects an Event.
func (f Filter) Matches(e Event) bool {
	isType := len(f.Types) == 0 || slices.ContainsFunc(f.Types, func(t string) bool { return strings.EqualFold(t, e.Type) })
	return isType && (f.Object == nil || *f.Object == e.Object)
}
