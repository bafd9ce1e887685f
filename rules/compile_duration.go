package rules

import (
	"github.com/google/cel-go/common/types"

	"kanon.dev/kanon/rules/flow"
	"kanon.dev/kanon/rules/syntax"
)

func (c *compiler) duration(spec *syntax.Duration, all *flow.Uses) *compiledDuration {
	if spec == nil {
		return nil
	}
	out := &compiledDuration{Duration: *spec}
	if spec.Node != nil {
		sc := c.ruleScope("spec." + spec.Field)
		sc.mayMove = true // as in t - now
		out.value = c.textField(spec.Node, sc, all, "a duration, or text such as 10m",
			types.DurationKind, types.StringKind, types.NullTypeKind)
		c.try(spec.Node, out.value, sc.place, func(s *scope) *problem {
			_, p := out.render(s)
			return p
		})
	}
	out.Node = nil
	return out
}
