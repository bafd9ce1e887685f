package rules

import (
	"github.com/google/cel-go/common/types"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/rules/program/template"
	"kanon.dev/kanon/rules/syntax"
)

// rollout compiles rollout, of which maxUnavailable is for all items.
func (c *compiler) rollout(spec *syntax.Child, child *program.Child, n *nodeUses) {
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
	child.Rollout = &program.Rollout{Rollout: *r}
	if r.Max == nil {
		return
	}
	sc := c.ruleScope("children." + spec.Label() + ".rollout.maxUnavailable")
	child.Rollout.Max = c.textField(r.Max, sc, &n.Uses, "an int, or text such as 25%", types.IntKind, types.StringKind)
	c.try(r.Max, child.Rollout.Max, sc.place, func(s template.Scope) *template.Problem {
		_, p := template.ShareOf(child.Rollout.Max, s)
		return p
	})
}
