package trace

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/author/live"
)

// maxEvents bounds how many Events of an object are shown: the newest ones, one for each reason.
const maxEvents = 3

// addEvents adds Warning Events to the nodes whose objects are not in a good state.
func (w *walk) addEvents(ctx context.Context, root *Node) error {
	warnings := map[string]map[types.UID][]Note{}
	for _, n := range root.All() {
		if n.UID == "" || n.State.IsGood() || n.Role == Lookup || n.Role == Patch {
			continue
		}
		namespace := n.Namespace
		if namespace == "" {
			namespace = metav1.NamespaceDefault // Events about cluster-scoped objects are there
		}
		if warnings[namespace] == nil {
			found, err := w.warnings(ctx, namespace)
			if err != nil {
				return err
			}
			warnings[namespace] = found
		}
		n.Notes = append(n.Notes, newest(slices.DeleteFunc(slices.Clone(warnings[namespace][n.UID]), n.explains))...)
	}
	return nil
}

// explains reports whether the tree already has what an Event says. Kanon's warnings about a parent repeat what the
// tree shows below it, unless an object is missing: then only the Event has the API server's reason.
func (n *Node) explains(event Note) bool {
	if slices.ContainsFunc(n.Notes, func(note Note) bool { return strings.Contains(note.Text, event.Text) }) {
		return true
	}
	return event.reporter == live.EventComponent && len(n.Rules) > 0 && !slices.ContainsFunc(n.Children, func(c *Node) bool {
		return c.State == NotApplied || c.Role == Child && c.State == Missing
	})
}

// warnings lists the Warning Events of a namespace, by the UID of the object that they are about. Without the right to
// list Events, there are none.
func (w *walk) warnings(ctx context.Context, namespace string) (map[types.UID][]Note, error) {
	list, err := w.options.Client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "events"}).Namespace(namespace).
		List(ctx, metav1.ListOptions{FieldSelector: "type=Warning"})
	switch {
	case apierrors.IsForbidden(err):
		return map[types.UID][]Note{}, nil
	case err != nil:
		return nil, fmt.Errorf("list Events: %w", err)
	}
	warnings := map[types.UID][]Note{}
	for i := range list.Items {
		event, err := live.EventOf(&list.Items[i])
		if err != nil {
			return nil, err
		}
		warnings[event.UID] = append(warnings[event.UID], Note{
			Source: FromEvent, Path: event.Reason, Text: event.Message, Since: event.Last, Count: int64(event.Count), reporter: event.Reporter,
		})
	}
	return warnings, nil
}

// newest returns the newest Events, one for each reason.
func newest(events []Note) []Note {
	slices.SortStableFunc(events, func(a, b Note) int { return b.Since.Compare(a.Since) })
	var kept []Note
	for _, event := range events {
		if len(kept) < maxEvents && !slices.ContainsFunc(kept, func(other Note) bool { return other.Path == event.Path }) {
			kept = append(kept, event)
		}
	}
	return kept
}
