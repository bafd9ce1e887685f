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

// folded is a tree in which one line stands for many objects that are ready and of which there is nothing to say.
func (n *Node) folded() *Node {
	out := *n
	out.Children = nil
	for i := 0; i < len(n.Children); {
		first := n.Children[i]
		end := i + 1
		for end < len(n.Children) && n.Children[end].isLike(first) {
			end++
		}
		alike := n.Children[i:end]
		i = end
		if len(alike) <= foldedFrom {
			for _, child := range alike {
				out.Children = append(out.Children, child.folded())
			}
			continue
		}
		for _, child := range alike[:shown] {
			out.Children = append(out.Children, child.folded())
		}
		kind := listing.Plural(schema.FromAPIVersionAndKind(first.APIVersion, first.Kind))
		out.Children = append(out.Children, &Node{ // without a kind, as it is several objects
			Role: first.Role, State: first.State, Rule: first.Rule, ID: first.ID, Name: fmt.Sprintf("… and %d more ready %s", len(alike)-shown, kind),
		})
	}
	return &out
}

// isLike reports whether two objects stand for each other: all is well with both, and with all below them.
func (n *Node) isLike(other *Node) bool {
	return n.Role == other.Role && n.groupKind() == other.groupKind() && n.Rule == other.Rule && n.ID == other.ID && n.isDull() && other.isDull()
}

// isDull reports whether an object and all below it are ready, and there is nothing to say about them.
func (n *Node) isDull() bool {
	return n.State == Ready && len(n.Notes) == 0 && !slices.ContainsFunc(n.Children, func(child *Node) bool { return !child.isDull() })
}
