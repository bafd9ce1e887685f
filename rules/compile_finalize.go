package rules

import (
	"kanon.dev/kanon/rules/flow"
)

// finalizingGuard is the condition under which all that belongs to spec.finalize is
// there.
func finalizingGuard() flow.Guard {
	return flow.Guard{Given: true, Conjuncts: []string{flow.RootFinalizing}, Asked: map[string]bool{}}
}

func (c *compiler) compileFinalize(rest *flow.Uses) *compiledFinalize {
	spec := c.rule.Finalize
	if spec == nil {
		return nil
	}
	out := &compiledFinalize{timeout: c.duration(spec.Timeout, rest)}
	if spec.Until != nil {
		by := &reader{label: "spec.finalize.until", bare: true, guard: finalizingGuard()}
		out.until = c.condition(spec.Until, c.ruleScope("spec.finalize.until"), &by.Uses).compiled()
		out.reads = by.Nodes
		c.readers = append(c.readers, by)
	}
	return out
}
