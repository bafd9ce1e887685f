package ruletest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/author/memory"
	"kanon.dev/kanon/author/preview"
	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/identity"
)

// state is the state of the cluster after the reconciles that a change causes.
type state struct {
	// Preview is the last evaluation; nil if the rule is not evaluated, as for a parent that is deleted or suspended.
	Preview *preview.Preview
	// Parent is nil once it is deleted.
	Parent *unstructured.Unstructured
	// Children are the children of each node, by kind, namespace and name.
	Children map[string][]*unstructured.Unstructured
	// Objects are all other objects, by kind, namespace and name.
	Objects []*unstructured.Unstructured
	// Events are those emitted since the previous state.
	Events []memory.Event
	// Created, Updated, Deleted and Recreated are the changes since the previous state, in order: children that were
	// created and updated, objects that were deleted, and children that were deleted to be recreated.
	Created, Updated, Deleted, Recreated []identity.ID
	Now                                  time.Time
}

// newState is the state of a cluster now, for its parent.
func (r *runner) newState(ctx context.Context, c *memory.Cluster) *state {
	s := &state{Children: map[string][]*unstructured.Unstructured{}, Now: c.Now(), Parent: shownAs(c.Parent())}
	if last := c.Last(); last != nil {
		s.Preview = preview.Of(ctx, c, r.program, memory.Pass{Observed: last, Reported: last})
	}
	for _, object := range c.API.All() {
		node, isChild := c.Owner(object)
		switch {
		case isChild:
			s.Children[node] = append(s.Children[node], shownAs(object))
		case s.Parent == nil || identity.Of(object) != identity.Of(s.Parent):
			s.Objects = append(s.Objects, shownAs(object))
		}
	}
	s.Events = c.OfRule(c.Events[r.emitted:])
	for _, w := range c.API.Writes[r.seen:] {
		s.note(c, w)
	}
	return s
}

// note adds a write to the changes.
func (s *state) note(c *memory.Cluster, w memory.Write) {
	id := identity.Of(w.Object)
	_, isChild := c.Owner(w.Object)
	byKanon := w.Manager == fieldset.Manager
	switch {
	case w.Action == memory.Created && byKanon && isChild && !slices.Contains(s.Recreated, id):
		s.Created = append(s.Created, id)
	case w.Action == memory.Updated && byKanon && isChild:
		s.Updated = append(s.Updated, id)
	case w.Action == memory.Recreated && isChild:
		s.Recreated = append(s.Recreated, id)
	case w.Action == memory.Deleted && isChild && (byKanon || w.Manager == ""), w.Action == memory.Removed && c.IsParent(w.Object):
		s.Deleted = append(s.Deleted, id)
	}
}

// shownAs is an object without its managed fields.
func shownAs(object *unstructured.Unstructured) *unstructured.Unstructured {
	if object == nil {
		return nil
	}
	shown := object.DeepCopy()
	shown.SetManagedFields(nil)
	return shown
}

// item is a rendered object of a child with forEach, and the index of its item.
type item struct {
	index  int
	object *unstructured.Unstructured
}

// items lists the objects of a child with forEach that the rule renders, in the order of the items. known is false if
// the rule is no longer evaluated for the parent.
func (s *state) items(node string) (items []item, known bool) {
	if s.Preview == nil || s.Preview.Evaluation == nil {
		return nil, false
	}
	for _, object := range s.Children[node] {
		if _, index, ok := s.Preview.Evaluation.ItemScope(node, object); ok {
			items = append(items, item{index, object})
		}
	}
	slices.SortFunc(items, func(a, b item) int { return cmp.Compare(a.index, b.index) })
	return items, true
}

// parseItem splits a word such as job[1] into the id of a child and the index of an item of its forEach.
func parseItem(word string) (node string, index int, ok bool) {
	node, rest, found := strings.Cut(word, "[")
	digits, closed := strings.CutSuffix(rest, "]")
	index, err := strconv.Atoi(digits)
	return node, index, found && closed && err == nil && index >= 0
}

// findFor lists the objects that word names for the parent of a cluster: "parent", the id of a child, an item such as
// job[1], a kind, or KIND/NAME. It returns an error if there are none.
func findFor(c *memory.Cluster, word string) ([]*unstructured.Unstructured, error) {
	if word == "parent" {
		if parent := c.Parent(); parent != nil {
			return []*unstructured.Unstructured{parent}, nil
		}
		return nil, memory.ErrNoParent
	}
	var children, others []*unstructured.Unstructured
	nodes := map[*unstructured.Unstructured]string{}
	for _, object := range c.API.All() {
		if node, ok := c.Owner(object); ok {
			nodes[object] = node
			children = append(children, object)
		} else if !c.IsParent(object) {
			others = append(others, object)
		}
	}
	slices.SortStableFunc(children, func(a, b *unstructured.Unstructured) int { return strings.Compare(nodes[a], nodes[b]) })
	if node, index, ok := parseItem(word); ok {
		return findItem(c, word, node, index, append(children, others...))
	}
	kind, name, named := strings.Cut(word, "/")
	var found []*unstructured.Unstructured
	for _, object := range append(children, others...) {
		if nodes[object] == word || object.GetKind() == kind && (!named || object.GetName() == name) {
			found = append(found, object)
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("no object is %q: write the id of a child, the index of an item behind it as in job[1], a kind, or KIND/NAME%s", word, existing(append(children, others...)))
	}
	return found, nil
}

// findItem is findFor for a word that names an item: the one with the index of node, among all objects.
func findItem(
	c *memory.Cluster, word, node string, index int, all []*unstructured.Unstructured,
) ([]*unstructured.Unstructured, error) {
	now := &state{Children: map[string][]*unstructured.Unstructured{}}
	if last := c.Last(); last != nil {
		now.Preview = &preview.Preview{Evaluation: last.Evaluation}
	}
	for _, object := range all {
		if of, ok := c.Owner(object); ok {
			now.Children[of] = append(now.Children[of], object)
		}
	}
	items, _ := now.items(node)
	var names []string
	for _, item := range items {
		if item.index == index {
			return []*unstructured.Unstructured{item.object}, nil
		}
		names = append(names, fmt.Sprintf("%s[%d] (%s/%s)", node, item.index, item.object.GetKind(), item.object.GetName()))
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("no object is %q: the rule renders no object of a child %s%s", word, node, existing(all))
	}
	return nil, fmt.Errorf("no object is %q; there are %s", word, strings.Join(names, ", "))
}

// existing lists the objects that exist, for an error message.
func existing(objects []*unstructured.Unstructured) string {
	var names []string
	for _, object := range objects {
		names = append(names, object.GetKind()+"/"+object.GetName())
	}
	const most = 10
	switch {
	case len(names) == 0:
		return "; nothing exists"
	case len(names) > most:
		names = append(names[:most], "…")
	}
	return "; there are " + strings.Join(names, ", ")
}
