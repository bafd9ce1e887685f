package trace

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/live/listing"
)

// If an object has more than foldedFrom ready objects of one kind below it, only some of them are shown.
const (
	foldedFrom = 5
	shown      = 3
)

// folded returns a tree in which one line stands for many objects that are ready and have no notes. Objects of one kind
// below the same node count together, even if others stand between them.
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
			out.Children = append(out.Children, &Node{ // without a kind: it stands for several objects
				Role: child.Role, State: child.State, Rule: child.Rule, ID: child.ID, Name: fmt.Sprintf("… and %d more ready %s", alike[kind]-shown, plural),
			})
		}
	}
	return &out
}

// likeness is equal for two nodes that may share one line while both, and all nodes below them, are ready.
type likeness struct {
	role     Role
	kind     schema.GroupKind
	rule, id string
}

func (n *Node) likeness() likeness {
	return likeness{role: n.Role, kind: n.groupKind(), rule: n.Rule, id: n.ID}
}

// isDull reports whether an object and all below it are ready and have no notes.
func (n *Node) isDull() bool {
	return n.State == Ready && len(n.Notes) == 0 && !slices.ContainsFunc(n.Children, func(child *Node) bool { return !child.isDull() })
}
