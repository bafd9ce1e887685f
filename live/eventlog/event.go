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

// Component is what Kanon's Events have as their source.
const Component = conditions.EventComponent

// Event is what happened to one object, once or several times.
type Event struct {
	Namespace, Name string
	Type, Reason    string
	Object          identity.ID
	// Rule is that of which the Event is, as NAMESPACE/NAME; empty if it is about a rule, or from an earlier version of Kanon.
	Rule        string
	UID         types.UID
	Message     string
	First, Last time.Time
	Count       int
}

// Log has the Events of a namespace.
type Log struct {
	Client dynamic.Interface
	// Namespace is empty for all.
	Namespace string
}

// Watch is what to follow for the Events after a version.
func (l Log) Watch(from string) follow.Watch {
	resource := l.Client.Resource(corev1.SchemeGroupVersion.WithResource("events"))
	return follow.Watch{Resource: resource.Namespace(l.Namespace), Options: metav1.ListOptions{FieldSelector: "source=" + Component}, From: from}
}

// List reads the Events, oldest first. The version is for Watch.
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

// Filter chooses Events. The zero value chooses all.
type Filter struct {
	// Types are Normal and Warning, in any case; all if it is empty.
	Types []string
	// Object is what Events are about; nil for all.
	Object *identity.ID
}

// Matches reports whether the filter chooses an Event.
func (f Filter) Matches(e Event) bool {
	isType := len(f.Types) == 0 || slices.ContainsFunc(f.Types, func(t string) bool { return strings.EqualFold(t, e.Type) })
	return isType && (f.Object == nil || *f.Object == e.Object)
}

// Matching are the Events that a filter chooses.
func Matching(events []Event, f Filter) []Event {
	return slices.DeleteFunc(slices.Clone(events), func(e Event) bool { return !f.Matches(e) })
}
