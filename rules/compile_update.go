package rules

import (
	"kanon.dev/kanon/rules/dependency"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/flow"
	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/rules/syntax"
	"kanon.dev/kanon/rules/yamltree"
)

// writeConditions compiles what decides whether an object may be created, updated and recreated.
func (c *compiler) writeConditions(spec *syntax.Child, child *program.Child, sc *compileScope, n *dependency.Node) {
	n.Creation = flow.Guard{Given: spec.CreateWhen != nil, Lost: spec.Gaps["createWhen"]}
	if spec.CreateWhen != nil {
		u := &flow.Uses{}
		if x := c.condition(spec.CreateWhen, sc.in(".createWhen"), u); x != nil {
			child.CreateWhen = x.compiled()
			n.Creation = flow.GuardOf(x.expr, u)
			n.Creation.Lost = spec.Gaps["createWhen"]
		}
		n.Add(u)
	}
	if spec.CreateWhen == nil && spec.When == nil && !spec.Gaps["createWhen"] && !spec.Gaps["when"] {
		c.checkShortLived(spec, child)
	}
	if spec.UpdateWhen != nil && spec.UpdatePolicy == syntax.UpdateCreateOnly {
		c.ReportNode(spec.UpdateWhen, diagnostic.CodeIdleCondition, "updateWhen decides nothing: with updatePolicy CreateOnly, %s is never changed", spec.Label()).
			WithRelated(spec.UpdatePolicyPos, "the updatePolicy is here").WithHint("leave out one of the two")
	}
	if spec.UpdateWhen != nil {
		child.UpdateWhen = c.condition(spec.UpdateWhen, c.selfScope(sc, child, sc.Place+".updateWhen"), &n.Uses).compiled()
	}
	c.recreation(spec, child, sc, n)
	c.rollout(spec, child, n)
}

// checkShortLived reports a Job that deletes itself when it is done: it would be recreated and run again, forever.
func (c *compiler) checkShortLived(spec *syntax.Child, child *program.Child) {
	if child.GVK.Group != "batch" || child.GVK.Kind != "Job" {
		return
	}
	if ttl := spec.Template.Get("spec").Get("ttlSecondsAfterFinished"); ttl != nil && (ttl.Kind != yamltree.Scalar || ttl.Value != nil) {
		c.ReportNode(ttl, diagnostic.CodeShortLivedJob, "%s deletes itself when it is done, and is then recreated and runs again", spec.Label()).
			WithHint("write a createWhen that is false once it has succeeded, as from a field of the parent's status; or leave out ttlSecondsAfterFinished")
	}
}

// recreation compiles recreateWhen, and checks what an updatePolicy may delete.
func (c *compiler) recreation(spec *syntax.Child, child *program.Child, sc *compileScope, n *dependency.Node) {
	if spec.RecreateWhen != nil {
		child.RecreateWhen = c.condition(spec.RecreateWhen, c.selfScope(sc, child, sc.Place+".recreateWhen"), &n.Uses).compiled()
	}
	if program.MayRecreate(child.GVK) {
		return
	}
	pos, what := spec.UpdatePolicyPos, "updatePolicy "+string(spec.UpdatePolicy)
	switch {
	case spec.RecreateWhen != nil:
		pos, what = c.rule.Source.At(spec.RecreateWhen), "recreateWhen"
	case !child.Renews():
		return
	}
	c.Report(pos, diagnostic.CodeRecreateLoses, "%s would delete %s, a %s, and everything in it", what, spec.Label(), child.GVK.Kind).
		WithHint("render another name for the new one, so that the old one is pruned and the prune guard applies")
}

// rollout compiles rollout. maxUnavailable is evaluated once for all items.
func (c *compiler) rollout(spec *syntax.Child, child *program.Child, n *dependency.Node) {
	r := spec.Rollout
	if r == nil {
		return
	}
	switch {
	case !spec.Many() && !spec.Gaps["forEach"]:
		c.ReportNode(r.Node, diagnostic.CodeIdleRollout, "rollout decides nothing: %s is one object", spec.Label()).
			WithHint("leave it out, or give the child a forEach")
	case spec.UpdatePolicy == syntax.UpdateCreateOnly && (!r.Ordered || r.Node.Has("maxUnavailable") || r.Node.Has("partition")):
		c.ReportNode(r.Node, diagnostic.CodeIdleRollout, "rollout decides nothing: with updatePolicy CreateOnly, %s is never updated", spec.Label()).
			WithRelated(spec.UpdatePolicyPos, "the updatePolicy is here").WithHint("leave it out; only order: OrderedReady decides how items are created and deleted")
	}
	child.Rollout = &program.Rollout{Rollout: *r}
	if r.Max == nil {
		return
	}
	sc := c.ruleScope("children." + spec.Label() + ".rollout.maxUnavailable")
	child.Rollout.Max = c.field(r.Max, sc, &n.Uses, share())
}
