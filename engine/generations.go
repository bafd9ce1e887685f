package engine

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/apply"
	"kanon.dev/kanon/engine/conditions"
)

// maxGenerations is how many objects may descend from one another by the same rule.
const maxGenerations = 16

// ancestry follows the owners of a parent that is a child itself, up to the same rule's
// maxGenerations-th forebear, and tells by whom each was made.
func (p *pass) ancestry() (generations int, chain []string) {
	running := p.engine.running.load()
	seen := make(map[types.UID]bool)
	for obj := p.parent; obj != nil && !seen[obj.GetUID()] && generations < maxGenerations; {
		seen[obj.GetUID()] = true
		owner, ok := p.marks.OwnerOf(obj)
		op := running.byID[owner.RuleID]
		if !ok || op == nil {
			break
		}
		if owner.RuleID == p.op.id {
			generations++
		}
		chain = append(chain, fmt.Sprintf("%s by rule %s", apply.RefOf(obj), op.name))
		var next *unstructured.Unstructured
		if made, ok := p.monitors.Head(op.parentKey, owner.Parent.Namespace, owner.Parent.Name); ok && made.GetUID() == owner.Parent.UID {
			next = made
		}
		obj = next
	}
	return generations, chain
}

// descendsTooFar tells whether the rule made the parent from what it made before, and
// so on, too often for it not to go on for ever.
func (p *pass) descendsTooFar() bool {
	generations, chain := p.ancestry()
	if generations < maxGenerations {
		return false
	}
	p.problems = append(p.problems, conditions.Problem{
		Subject: "loop", Reason: conditions.ReasonLoop, Stalled: true,
		Err: fmt.Errorf("nothing more is made of it: the rule makes parents for itself, %d generations so far (%s, and so on); "+
			"give spec.parent a selector or a when that its own children do not meet",
			maxGenerations, strings.Join(chain[:min(len(chain), 4)], ", made of ")),
	})
	return true
}
