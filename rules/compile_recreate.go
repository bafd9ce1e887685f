package rules

import (
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/rules/syntax"
)

// renewal compiles recreateWhen, and looks at what an updatePolicy may delete.
func (c *compiler) renewal(spec *syntax.Child, child *program.Child, sc *compileScope, n *nodeUses) {
	if spec.RecreateWhen != nil {
		child.RecreateWhen = c.condition(spec.RecreateWhen, c.selfScope(sc, child, sc.place+".recreateWhen"), &n.Uses).compiled()
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
	c.report(pos, diagnostic.CodeRecreateLoses, "%s would delete %s, a %s, and everything in it", what, spec.Label(), child.GVK.Kind).
		WithHint("render another name for the new one, so that the old one is pruned and the prune guard applies")
}
