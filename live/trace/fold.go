package trace

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/live/listing"
)

// Of objects of one kind below one object that are all ready, only so many are shown where there are more than foldedFrom.
const (
	foldedFrom = 5
	shown      = 3
)

// folded is a tree in which one line stands for many objects that are ready and of which there is nothing to say. Those of one kind count
// together, whatever is between them.
func (n *Node) folded() *Node {
	out := *n
	out.Children = nil
	alike, seen := map[likeness]int{}, map[likeness]int{}
	for _, child := range n.Children {
		if child.isDull() {
			alike[child.likeness()]++
		}
	}
	for _, child := range n.Children {
		kind := child.likeness()
		if !child.isDull() || alike[kind] <= foldedFrom {
			out.Children = append(out.Children, child.folded())
			continue
		}
		switch seen[kind]++; {
		case seen[kind] <= shown:
			out.Children = append(out.Children, child.folded())
		case seen[kind] == shown+1:
			plural := listing.Plural(schema.FromAPIVersionAndKind(child.APIVersion, child.Kind))
			out.Children = append(out.Children, &Node{ // without a kind, as it is several objects
				Role: child.Role, State: child.State, Rule: child.Rule, ID: child.ID, Name: fmt.Sprintf("… and %d more ready %s", alike[kind]-shown, plural),
			})
		}
	}
	return &out
}

// likeness is the same for two objects that stand for each other if all is well with both, and with all below them.
type likeness struct {
	role     Role
	kind     schema.GroupKind
	rule, id string
}

func (n *Node) likeness() likeness {
	return likeness{role: n.Role, kind: n.groupKind(), rule: n.Rule, id: n.ID}
}

// isDull reports whether an object and all below it are ready, and there is nothing to say about them.
func (n *Node) isDull() bool {
	return n.State == Ready && len(n.Notes) == 0 && !slices.ContainsFunc(n.Children, func(child *Node) bool { return !child.isDull() })
}
