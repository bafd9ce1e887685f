package rules

import (
	"maps"

	"kanon.dev/kanon/rules/dependency"
	"kanon.dev/kanon/rules/flow"
	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/rules/program/template"
	"kanon.dev/kanon/rules/scanner"
	"kanon.dev/kanon/rules/syntax"
	"kanon.dev/kanon/rules/yamltree"
)

// deletion compiles a child's deletionPolicy. A case with an expression has an empty policy in child.Ending.
func (c *compiler) deletion(spec *syntax.Child, child *program.Child, sc *compileScope, u *flow.Uses) {
	policy := func(n *yamltree.Node, field string) (syntax.DeletionPolicy, template.Template) {
		text, _ := n.Text()
		if n == nil || !scanner.HasExpression(text) {
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
func (c *compiler) compileDeleteWhen(u *flow.Uses) *template.Expression {
	n := c.rule.DeleteWhen
	if n == nil {
		return nil
	}
	if !c.reach.CheckDeletion(n) {
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
		by := &dependency.Reader{Label: "spec.finalize.until", Bare: true, Guard: dependency.Finalizing()}
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
