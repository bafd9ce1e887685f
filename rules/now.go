package rules

import (
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/syntax"
	"kanon.dev/kanon/rules/yamltree"
)

// checkSteadyIdentity reports a name or a namespace that goes with the clock,
// which would be another object each time.
func (c *compiler) checkSteadyIdentity(spec *syntax.Child, from *origin) {
	if from == nil || c.rule.RequeueAfter == nil {
		return // it was reported
	}
	metadata, n := from.Fields["metadata"], spec.Template.Get("metadata")
	if metadata == nil || n == nil {
		return
	}
	report := func(n *yamltree.Node, what string) {
		c.report(c.rule.Source.At(n), diagnostic.CodeMovingTime, "%s must not change with every second, which would create a new object each time, and this does, because it uses now", what).
			WithHint(`take steps, as in truncate(now, duration("1h"))`)
	}
	if n.Kind != yamltree.Mapping && metadata.Moves() {
		report(n, "metadata")
		return
	}
	for _, name := range []string{"name", "namespace"} {
		if n.Get(name) != nil && metadata.Fields[name].Moves() {
			report(n.Get(name), "metadata."+name)
		}
	}
}
