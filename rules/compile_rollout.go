package rules

import (
	"github.com/google/cel-go/common/types"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/syntax"
)

// rollout compiles rollout, of which maxUnavailable is for all items.
func (c *compiler) rollout(spec *syntax.Child, child *compiledChild, n *nodeUses) {
	r := spec.Rollout
	if r == nil {
		return
	}
	pos := c.rule.Source.At(r.Node)
	switch {
	case !spec.Many() && !spec.Gaps["forEach"]:
		c.report(pos, diagnostic.CodeIdleRollout, "rollout decides nothing: %s is one object", spec.Label()).
			WithHint("leave it out, or give the child a forEach")
	case spec.UpdatePolicy == syntax.UpdateCreateOnly && (!r.Ordered || r.Node.Has("maxUnavailable") || r.Node.Has("partition")):
		c.report(pos, diagnostic.CodeIdleRollout, "rollout decides nothing: with updatePolicy CreateOnly, %s is never updated", spec.Label()).
			WithHint("leave it out; only order: OrderedReady decides how items are created and deleted")
	}
	child.rollout = &compiledRollout{Rollout: *r}
	child.Rollout, child.Ordered = true, r.Ordered
	if r.Max == nil {
		return
	}
	sc := c.ruleScope("children." + spec.Label() + ".rollout.maxUnavailable")
	child.rollout.value = c.textField(r.Max, sc, &n.Uses, "an int, or text such as 25%", types.IntKind, types.StringKind)
	c.try(r.Max, child.rollout.value, sc.place, func(s *scope) *problem {
		_, p := s.ev.maxUnavailable(child.rollout, 1)
		return p
	})
}
