package rules

import (
	"github.com/google/cel-go/common/types"

	"kanon.dev/kanon/rules/flow"
	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/rules/program/template"
	"kanon.dev/kanon/rules/syntax"
)

func (c *compiler) duration(spec *syntax.Duration, all *flow.Uses) *program.Duration {
	if spec == nil {
		return nil
	}
	out := &program.Duration{Duration: *spec}
	if spec.Node != nil {
		sc := c.ruleScope("spec." + spec.Field)
		sc.mayMove = true // as in t - now
		out.Value = c.textField(spec.Node, sc, all, "a duration, or text such as 10m",
			types.DurationKind, types.StringKind, types.NullTypeKind)
		c.try(spec.Node, out.Value, sc.place, func(s template.Scope) *template.Problem {
			_, p := template.DurationOf(out.Value, s, spec.Least)
			return p
		})
	}
	out.Node = nil
	return out
}
