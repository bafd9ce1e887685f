package eventlog

import (
	"fmt"
	"time"

	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/live/listing"
)

// view is an Event as JSON.
type view struct {
	Type    string     `json:"type"`
	Reason  string     `json:"reason"`
	Object  objectView `json:"object"`
	Message string     `json:"message"`
	Count   int        `json:"count"`
	First   time.Time  `json:"firstSeen"`
	Last    time.Time  `json:"lastSeen"`
}

type objectView struct {
	Kind      string `json:"kind"`
	Group     string `json:"group,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// ListOf makes a printable list of Events. If withNamespace is true, the first column is their namespace.
func ListOf(events []Event, withNamespace bool, now time.Time) listing.List {
	titles := []string{"LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"}
	if withNamespace {
		titles = append([]string{"NAMESPACE"}, titles...)
	}
	l := listing.List{Columns: listing.Columns(titles...)}
	for _, e := range events {
		cells := []string{lastSeen(e, now), e.Type, e.Reason, nameOf(e.Object), listing.Line(e.Message, true)}
		if withNamespace {
			cells = append([]string{listing.Or(e.Object.Namespace)}, cells...)
		}
		l.Add(nameOf(e.Object), view{
			Type: e.Type, Reason: e.Reason, Message: e.Message, Count: e.Count, First: e.First, Last: e.Last,
			Object: objectView{Kind: e.Object.Kind, Group: e.Object.Group, Namespace: e.Object.Namespace, Name: e.Object.Name},
		}, cells...)
	}
	return l
}

// lastSeen is the time since the last occurrence, as kubectl prints it: 5m, or 5m (x3 over 2h).
func lastSeen(e Event, now time.Time) string {
	last := listing.Age(e.Last, now)
	if e.Count > 1 {
		return fmt.Sprintf("%s (x%d over %s)", last, e.Count, listing.Age(e.First, now))
	}
	return last
}

// nameOf names an object as kubectl events does: WebApp/storefront.
func nameOf(id identity.ID) string { return id.Kind + "/" + id.Name }
