package reconcile

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/conditions"
)

// maxGenerations is how many objects may descend from one another by the same rule.
const maxGenerations = 16

// ancestry follows the owners of a parent that is a child itself. It counts the objects that the same rule created, up to
// maxGenerations, and names each object with the rule that created it.
func (p *pass) ancestry() (generations int, ancestors []string) {
	running := p.r.Running.Load()
	seen := make(map[types.UID]bool)
	for obj := p.parent; !seen[obj.GetUID()] && generations < maxGenerations; {
		seen[obj.GetUID()] = true
		owner, ok := p.r.Marks.OwnerOf(obj)
		op := running.ByID[owner.RuleID]
		if !ok || op == nil {
			break
		}
		if owner.RuleID == p.op.ID {
			generations++
		}
		ancestors = append(ancestors, fmt.Sprintf("%s by rule %s", mark.RefOf(obj), op.Name))
		parent, ok := p.r.Monitors.Head(op.ParentKey, owner.Parent.Namespace, owner.Parent.Name)
		if !ok || parent.GetUID() != owner.Parent.UID {
			break
		}
		obj = parent
	}
	return generations, ancestors
}

// checkGenerations returns a problem if the rule created the parent from an object that it created itself, and so on
// for maxGenerations, so that this would never end. No chain of reconciles shows such a loop, because each reconcile is
// the first one of a new parent.
func (p *pass) checkGenerations() []conditions.Problem {
	generations, ancestors := p.ancestry()
	if generations < maxGenerations {
		return nil
	}
	return []conditions.Problem{{
		Subject: "loop", Reason: conditions.ReasonLoop, Stalled: true,
		Err: fmt.Errorf("no children are created for it: the rule creates parents for itself, %d generations so far (%s, and so on); "+
			"give spec.parent a selector or a when that its own children do not meet",
			maxGenerations, strings.Join(ancestors[:min(len(ancestors), 4)], ", created for ")),
	}}
}
