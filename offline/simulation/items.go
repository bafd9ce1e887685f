package simulation

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/offline/preview"
)

// Item is a rendered object of a child with forEach, and the index of its item.
type Item struct {
	Index  int
	Object *unstructured.Unstructured
}

// Items lists the objects of a child with forEach that the rule renders, in the order of the items. known is false if
// the rule is no longer evaluated for the parent.
func (st *State) Items(node string) (items []Item, known bool) {
	return itemsOf(st.Preview, node, st.Children[node])
}

func itemsOf(last *preview.Preview, node string, objects []*unstructured.Unstructured) (items []Item, known bool) {
	if last == nil || last.Evaluation == nil {
		return nil, false
	}
	for _, object := range objects {
		if _, index, ok := last.Evaluation.ItemScope(node, object); ok {
			items = append(items, Item{index, object})
		}
	}
	slices.SortFunc(items, func(a, b Item) int { return cmp.Compare(a.Index, b.Index) })
	return items, true
}

// ParseItem splits a word such as job[1] into the id of a child and the index of an item of its forEach.
func ParseItem(word string) (node string, index int, ok bool) {
	node, rest, found := strings.Cut(word, "[")
	digits, closed := strings.CutSuffix(rest, "]")
	index, err := strconv.Atoi(digits)
	return node, index, found && closed && err == nil && index >= 0
}

// selectItem is Select for a word that names an item.
func (s *Simulation) selectItem(word, node string, index int) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	for _, c := range s.sortedChildren() {
		if c.Node == node {
			objects = append(objects, c.Object)
		}
	}
	items, _ := itemsOf(s.last, node, objects)
	var names []string
	for _, item := range items {
		if item.Index == index {
			return []*unstructured.Unstructured{item.Object}, nil
		}
		names = append(names, fmt.Sprintf("%s[%d] (%s/%s)", node, item.Index, item.Object.GetKind(), item.Object.GetName()))
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("no object is %q: the rule renders no object of a child %s%s", word, node, s.existing())
	}
	return nil, fmt.Errorf("no object is %q; there are %s", word, strings.Join(names, ", "))
}
