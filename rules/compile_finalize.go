package rules

import (
	"maps"

	"kanon.dev/kanon/rules/flow"
	"kanon.dev/kanon/rules/program"
)

// finalizingGuard is the condition under which all that belongs to spec.finalize is
// there.
func finalizingGuard() flow.Guard {
	return flow.Guard{Given: true, Conjuncts: []string{flow.RootFinalizing}, Asked: map[string]bool{}}
}

// askedBy are the paths that are there in a part of the rule, which belongs to spec.finalize or not.
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
		by := &reader{label: "spec.finalize.until", bare: true, guard: finalizingGuard()}
		sc := c.ruleScope("spec.finalize.until")
		sc.asked = c.askedBy(true)
		out.Until = c.condition(spec.Until, sc, &by.Uses).compiled()
		out.Reads = by.Nodes
		c.readers = append(c.readers, by)
	}
	return out
}
