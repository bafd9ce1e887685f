package live

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"kanon.dev/kanon/author/redact"
	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/engine/record"
	"kanon.dev/kanon/rules/yamltree"
)

// EventComponent is the source component of Kanon's Events.
const EventComponent = conditions.EventComponent

// Event is one occurrence, or a series of them, for one object.
type Event struct {
	Namespace, Name string
	Type, Reason    string
	Object          identity.ID
	// Rule is the rule of the Event, as NAMESPACE/NAME. It is empty if the Event is about a rule, or from an earlier
	// version of Kanon.
	Rule string
	// Reporter is the component that emitted the Event.
	Reporter    string
	UID         types.UID
	Message     string
	First, Last time.Time
	Count       int
}

// EventLog reads the Events of a namespace.
type EventLog struct {
	Client dynamic.Interface
	// Namespace is empty for all namespaces.
	Namespace string
}

// Watch returns a watch of the Events after a resourceVersion.
func (l EventLog) Watch(from string) Watch {
	resource := l.Client.Resource(corev1.SchemeGroupVersion.WithResource("events"))
	return Watch{Resource: resource.Namespace(l.Namespace), Options: metav1.ListOptions{FieldSelector: "source=" + EventComponent}, From: from}
}

// List reads the Events, oldest first. version is for Watch.
func (l EventLog) List(ctx context.Context) (events []Event, version string, err error) {
	w := l.Watch("")
	list, err := w.Resource.List(ctx, w.Options)
	if err != nil {
		return nil, "", fmt.Errorf("list the Events: %w", err)
	}
	for i := range list.Items {
		event, err := EventOf(&list.Items[i])
		if err != nil {
			return nil, "", err
		}
		events = append(events, event)
	}
	slices.SortStableFunc(events, func(a, b Event) int { return cmp.Or(a.Last.Compare(b.Last), cmp.Compare(a.Name, b.Name)) })
	return events, list.GetResourceVersion(), nil
}

// EventOf decodes an Event.
func EventOf(object *unstructured.Unstructured) (Event, error) {
	var event corev1.Event
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &event); err != nil {
		return Event{}, fmt.Errorf("read Event %s/%s: %w", object.GetNamespace(), object.GetName(), err)
	}
	about := event.InvolvedObject
	e := Event{
		Namespace: event.Namespace, Name: event.Name, Type: event.Type, Reason: event.Reason, Message: event.Message,
		UID:      about.UID,
		Rule:     event.Annotations[conditions.AnnotationRule],
		Reporter: cmp.Or(event.ReportingController, event.Source.Component),
		First:    firstOf(event.FirstTimestamp.Time, event.EventTime.Time, event.CreationTimestamp.Time),
		Count:    max(1, int(event.Count)),
	}
	e.Last = firstOf(event.LastTimestamp.Time, e.First)
	if series := event.Series; series != nil { // as of events.k8s.io
		e.Last, e.Count = series.LastObservedTime.Time, int(series.Count)
	}
	e.Object.GroupKind = schema.FromAPIVersionAndKind(about.APIVersion, about.Kind).GroupKind()
	e.Object.Namespace, e.Object.Name = about.Namespace, about.Name
	return e, nil
}

// firstOf returns the first time that is set.
func firstOf(times ...time.Time) time.Time {
	for _, t := range times {
		if !t.IsZero() {
			return t
		}
	}
	return time.Time{}
}

// EventFilter selects Events. The zero value selects all.
type EventFilter struct {
	// Types are Normal and Warning, in any case; empty for all.
	Types []string
	// Object is the object of the Events; nil for all. Anywhere is true for objects of that name in all namespaces.
	Object   *identity.ID
	Anywhere bool

	// rule is the rule of the Events, and known caches whether an object is the rule's; see OfRule.
	rule    *Rule
	reader  *Reader
	selects func(*unstructured.Unstructured) bool
	known   map[identity.ID]bool
}

// OfRule restricts the filter to the Events of a rule: those about its origin, its record and its parents. namespace is
// Kanon's.
func (f *EventFilter) OfRule(ctx context.Context, reader *Reader, rule *Rule, namespace string) (err error) {
	f.rule, f.reader, f.known = rule, reader, make(map[identity.ID]bool)
	stored := identity.ID{GroupKind: schema.GroupKind{Kind: "ConfigMap"}}
	stored.Namespace, stored.Name = namespace, record.NamePrefix+rule.ID
	f.known[stored] = true
	if rule.Object != nil {
		f.known[identity.Of(rule.Object)] = true
	}
	f.selects, err = reader.Selector(ctx, rule, metav1.NamespaceAll)
	return err
}

// Matches reports whether the filter selects an Event. The error reports a failed request.
func (f *EventFilter) Matches(ctx context.Context, e Event) (bool, error) {
	if len(f.Types) > 0 && !slices.ContainsFunc(f.Types, func(t string) bool { return strings.EqualFold(t, e.Type) }) {
		return false, nil
	}
	if about := f.Object; about != nil {
		return about.GroupKind == e.Object.GroupKind && about.Name == e.Object.Name && (f.Anywhere || about.Namespace == e.Object.Namespace), nil
	}
	if f.rule == nil {
		return true, nil
	}
	if e.Rule != "" {
		return e.Rule == f.rule.Name.String(), nil
	}
	return f.isOfRule(ctx, e.Object)
}

// isOfRule reports whether an object is the rule's. A deleted parent counts as one.
func (f *EventFilter) isOfRule(ctx context.Context, id identity.ID) (bool, error) {
	is, ok := f.known[id]
	gvk := f.rule.ParentKind()
	if ok || id.GroupKind != gvk.GroupKind() {
		return is, nil
	}
	resource, err := f.reader.Resource(gvk, id.Namespace)
	if err != nil {
		return true, nil //nolint:nilerr // the kind was deleted, with the objects of these Events
	}
	object, err := resource.Get(ctx, id.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		f.known[id] = true
	case err != nil:
		return false, fmt.Errorf("get %s: %w", id, err)
	default:
		f.known[id] = f.selects(object)
	}
	return f.known[id], nil
}

// eventView is an Event as JSON.
type eventView struct {
	Type    string      `json:"type"`
	Reason  string      `json:"reason"`
	Object  eventObject `json:"object"`
	Message string      `json:"message"`
	Count   int         `json:"count"`
	First   time.Time   `json:"firstSeen"`
	Last    time.Time   `json:"lastSeen"`
}

type eventObject struct {
	Kind      string `json:"kind"`
	Group     string `json:"group,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// EventList makes a printable list of Events. If withNamespace is true, the first column is their namespace.
func EventList(events []Event, withNamespace bool, now time.Time) List {
	l := List{Columns: Columns("NAMESPACE", "LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE")}
	for _, e := range events {
		name, last := e.Object.Kind+"/"+e.Object.Name, Age(e.Last, now)
		if e.Count > 1 {
			last = fmt.Sprintf("%s (x%d over %s)", last, e.Count, Age(e.First, now))
		}
		l.Add(name, eventView{
			Type: e.Type, Reason: e.Reason, Message: e.Message, Count: e.Count, First: e.First, Last: e.Last,
			Object: eventObject{Kind: e.Object.Kind, Group: e.Object.Group, Namespace: e.Object.Namespace, Name: e.Object.Name},
		}, OrNone(e.Object.Namespace), last, e.Type, e.Reason, name, Line(e.Message, true))
	}
	return withoutNamespace(l, withNamespace)
}

// EventMask hides values of Secrets in Events of rules that have to do with Secrets: a message of spec.events may contain
// one. It reads Secrets only for such rules.
type EventMask struct {
	Client dynamic.Interface
	Rules  *Rules

	values redact.Values
	// read is when values were read. partly is true if some Secrets could not be read.
	read   time.Time
	partly bool
}

// Hide returns an Event without values of Secrets. If the user may not read the Secrets, it hides all of a message that
// may contain a value.
func (m *EventMask) Hide(ctx context.Context, e Event) Event {
	rule, err := m.Rules.Find(e.Rule)
	isKnown := err == nil && rule.Decoded != nil
	if e.Rule == "" || isKnown && !rule.Decoded.HasSecrets() {
		return e
	}
	if m.values == nil || e.Last.After(m.read) {
		values, err := SecretValues(ctx, m.Client, e.Object.Namespace)
		m.values, m.read, m.partly = values, time.Now(), err != nil
	}
	if m.partly && isKnown && emits(rule, e.Reason) {
		e.Message = redact.Hidden + ": it may have the value of a Secret, and you may not list Secrets"
		return e
	}
	e.Message = m.values.Text(e.Message)
	return e
}

// emits reports whether an Event with this reason may come from spec.events.
func emits(rule *Rule, reason string) bool {
	for _, event := range rule.Decoded.Events {
		if text, ok := event.Reason.Text(); !ok || text == reason || yamltree.HasExpression(text) {
			return true
		}
	}
	return false
}
