package trace

import (
	"slices"
	"strings"
)

// Change is how one object differs between two trees.
type Change struct {
	// Name is the object's title in the tree.
	Name string
	// Before is empty for an object that is new in the tree, After for one that is gone.
	Before, After State
	// Why gives the reasons for the state.
	Why string
}

// String is the change in a line: "Deployment/web NotReady → Ready".
func (c Change) String() string {
	text := c.Name + " "
	switch {
	case c.After == "":
		text += string(c.Before) + " → gone"
	case c.Before != "" && c.Before != c.After:
		text += string(c.Before) + " → " + string(c.After)
	default:
		text += string(c.After)
	}
	if c.Why != "" {
		text += ": " + strings.ReplaceAll(c.Why, "\n", "; ")
	}
	return text
}

// Changes lists what differs in a later tree of an object: first what is new or different, in the order of the tree,
// then what is gone. Different times alone are no change.
func Changes(before, after *Node) []Change {
	old := before.All()
	var changes []Change
	for _, n := range after.All() {
		i := slices.IndexFunc(old, func(other *Node) bool { return other.key() == n.key() })
		if i < 0 { // the node had no name until now
			i = slices.IndexFunc(old, func(other *Node) bool {
				return other.Name == "" && other.Selector == "" && other.Rule == n.Rule && other.ID == n.ID && other.Role == n.Role && other.groupKind() == n.groupKind()
			})
		}
		change := Change{Name: n.title(after.Namespace), After: n.State, Why: n.why()}
		if i < 0 {
			changes = append(changes, change)
			continue
		}
		was := old[i]
		old = slices.Delete(old, i, i+1)
		change.Before = was.State
		if was.State != n.State || was.why() != change.Why {
			changes = append(changes, change)
		}
	}
	for _, was := range old {
		changes = append(changes, Change{Name: was.title(before.Namespace), Before: was.State})
	}
	return changes
}
