package rules

import (
	"maps"

	"kanon.dev/kanon/rules/check"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/flow"
	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/rules/syntax"
	"kanon.dev/kanon/rules/yamltree"
)

// writeConditions compiles what decides whether an object may be created, updated and recreated.
func (c *compiler) writeConditions(spec *syntax.Child, child *program.Child, sc *compileScope, n *childNode) {
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
func (c *compiler) recreation(spec *syntax.Child, child *program.Child, sc *compileScope, n *childNode) {
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
func (c *compiler) rollout(spec *syntax.Child, child *program.Child, n *childNode) {
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

func (c *compiler) ignored(spec *syntax.Child, child *program.Child, sc *compileScope, u *flow.Uses) {
	paths := check.Ignoring{Reporter: c.Reporter, Kind: child.GVK.Kind, Schema: c.schemaOf(child.GVK)}
	for _, item := range spec.Ignore {
		path, ok := paths.Add(item)
		if !ok {
			continue
		}
		if item.When == nil {
			child.Ignore = append(child.Ignore, path)
			continue
		}
		when := c.condition(item.When, sc.in("."+item.Place+".when"), u).compiled()
		child.Handovers = append(child.Handovers, program.Handover{Path: path, Place: item.Place + ".when", When: when})
	}
}

// deletion compiles a child's deletionPolicy. A case with an expression has an empty policy in child.Ending.
func (c *compiler) deletion(spec *syntax.Child, child *program.Child, sc *compileScope, u *flow.Uses) {
	policy := func(n *yamltree.Node, field string) (syntax.DeletionPolicy, program.Template) {
		text, _ := n.Text()
		if n == nil || !yamltree.HasExpression(text) {
			if text == "" {
				return syntax.EndDelete, nil
			}
			return syntax.DeletionPolicy(text), nil
		}
		return "", c.field(n, sc.in(".deletionPolicy"+field), u, deletionPolicy())
	}
	if one := spec.Deletion.WhenPruned; one != nil && one == spec.Deletion.WhenDeleted {
		child.Ending.WhenPruned, child.EndingFrom.WhenPruned = policy(one, "")
		child.Ending.WhenDeleted, child.EndingFrom.WhenDeleted = child.Ending.WhenPruned, child.EndingFrom.WhenPruned
		return
	}
	child.Ending.WhenPruned, child.EndingFrom.WhenPruned = policy(spec.Deletion.WhenPruned, ".whenPruned")
	child.Ending.WhenDeleted, child.EndingFrom.WhenDeleted = policy(spec.Deletion.WhenDeleted, ".whenDeleted")
}

// compileDeleteWhen compiles spec.deleteWhen. A rule must not delete parents of kinds that the cluster depends on.
func (c *compiler) compileDeleteWhen(u *flow.Uses) *program.Expression {
	n := c.rule.DeleteWhen
	if n == nil {
		return nil
	}
	if !c.checkDeletion(n) {
		return nil
	}
	return c.condition(n, c.ruleScope("spec.deleteWhen"), u).compiled()
}

// askedBy are the paths that exist in a part of the rule. cleanup is true for the children and conditions of
// spec.finalize.
func (c *compiler) askedBy(cleanup bool) map[string]bool {
	if !cleanup {
		return c.asked
	}
	asked := map[string]bool{flow.DeletionTime: true}
	maps.Copy(asked, c.asked)
	return asked
}

func (c *compiler) compileFinalize(rest *flow.Uses) *program.Finalize {
	spec := c.rule.Finalize
	if spec == nil {
		return nil
	}
	out := &program.Finalize{Timeout: c.duration(spec.Timeout, rest)}
	if spec.Until != nil {
		by := &reader{Label: "spec.finalize.until", Bare: true, Guard: finalizingGuard()}
		sc := c.ruleScope("spec.finalize.until")
		sc.asked = c.askedBy(true)
		out.Until = c.condition(spec.Until, sc, &by.Uses).compiled()
		out.Reads = by.Nodes
		c.readers = append(c.readers, by)
	}
	return out
}

func (c *compiler) duration(spec *syntax.Duration, all *flow.Uses) *program.Duration {
	if spec == nil {
		return nil
	}
	out := &program.Duration{Duration: *spec}
	if spec.Node != nil {
		sc := c.ruleScope("spec." + spec.Field)
		sc.MayMove = true // as in t - now
		out.Value = c.field(spec.Node, sc, all, duration(spec.Least))
	}
	out.Node = nil
	return out
}
