package rules

import (
	"kanon.dev/kanon/rules/conform"
	"kanon.dev/kanon/rules/flow"
	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/rules/syntax"
)

// ignored compiles a child's ignore.
func (c *compiler) ignored(spec *syntax.Child, child *program.Child, sc *compileScope, u *flow.Uses) {
	paths := conform.Ignoring{Reporter: c.Reporter, Kind: child.GVK.Kind, Schema: c.schemaOf(child.GVK)}
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
