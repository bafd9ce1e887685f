package rules

import (
	"maps"
	"slices"
	"strings"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/flow"
	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/rules/syntax"
	"kanon.dev/kanon/rules/yamltree"
)

// checkGenerated notes the fields of a template that are generated once, and reports what would
// not be kept, because the template does not set the field that it is the default of.
func (c *compiler) checkGenerated(spec *syntax.Child, child *program.Child, locals map[string]*variable, u *flow.Uses) {
	kept := map[*yamltree.Node]bool{} // the values, in the template or of variables, that are
	var walk func(n *yamltree.Node, path []string)
	walk = func(n *yamltree.Node, path []string) {
		for _, f := range n.Fields {
			if !syntax.HasExpression(f.Name) {
				walk(f.Value, append(slices.Clip(path), f.Name))
			}
		}
		x := c.results[n].x
		if x == nil {
			return
		}
		if slices.Contains(u.Generated, n) && slices.Equal(flow.GeneratedPath(x.expr.Root(), spec.ID), path) {
			kept[n] = true
			child.Generated = append(child.Generated, program.GeneratedField{Path: path})
		}
		if v := locals[flow.WholeVariable(x.expr.Root())]; v != nil && len(v.Generated) > 0 && slices.Equal(v.Generated, path) {
			kept[v.spec.Value] = true
			child.Generated = append(child.Generated, program.GeneratedField{Path: path, Variable: true})
		}
	}
	walk(spec.Template, nil)
	for _, n := range u.Generated {
		c.checkKept(spec, child, n, kept[n] && len(c.results[n].others) == 0)
	}
	for _, name := range slices.Sorted(maps.Keys(locals)) {
		c.checkGeneratedVariable(spec, child, locals[name], kept)
	}
}

// checkKept reports a value in the template that is generated, and not kept.
func (c *compiler) checkKept(spec *syntax.Child, child *program.Child, n *yamltree.Node, kept bool) {
	path, found := pathTo(spec.Template, n)
	if !found || isIdentity(path) {
		path = examplePath()
	}
	value := c.generatedValue(spec, path, n)
	switch {
	case kept && isUnreadable(child, path):
		c.reportUnreadable(spec, n, path)
	case !kept && found:
		c.ReportNode(n, diagnostic.CodeOutOfScope, "random gives another value at each evaluation, and this is not the field of %s.%s that it is the default of", flow.RootObserved, spec.ID).
			WithHint("let the whole value be that of its own field, as in %s", yamlPath(readable(path), value))
	case !kept:
		c.ReportNode(n, diagnostic.CodeOutOfScope, "random gives another value at each evaluation, and this is not a field of %s.%s that it can be the default of", flow.RootObserved, spec.ID).
			WithHint("let the whole value be that of its own field, as in %s", yamlPath(path, value))
	}
}

// checkGeneratedVariable reports a variable that is generated, and that the template does not
// keep in the field that the variable reads.
func (c *compiler) checkGeneratedVariable(spec *syntax.Child, child *program.Child, v *variable, kept map[*yamltree.Node]bool) {
	if v.uses == nil || len(v.uses.Generated) == 0 || v.Value == nil {
		return
	}
	at, name := c.rule.Source.At(v.spec.Value), flow.RootVariables+"."+v.Name
	switch {
	case len(v.Generated) == 0:
		c.Report(at, diagnostic.CodeOutOfScope, "random gives another value at each evaluation, and it is not the whole value of %s that it is the default of", name).
			WithHint("let a variable be nothing but that, as in {name: %s, value: \"%s\"}, and compute others from it", v.Name, c.generatedValue(spec, fieldOf(spec, &v.spec), v.spec.Value))
	case isUnreadable(child, v.Generated):
		c.reportUnreadable(spec, v.spec.Value, v.Generated)
	case !kept[v.spec.Value]:
		c.Report(at, diagnostic.CodeOutOfScope, "%s would be another value at each evaluation, because the template does not keep it in %s, which it reads", name, strings.Join(v.Generated, ".")).
			WithHint("set that field in the template: %s", yamlPath(v.Generated, "${"+name+"}"))
	}
}

// isUnreadable says whether what is written to a field cannot be read back.
func isUnreadable(child *program.Child, path []string) bool {
	return syntax.IsSecret(child.GVK) && len(path) > 0 && path[0] == "stringData"
}

func (c *compiler) reportUnreadable(spec *syntax.Child, n *yamltree.Node, path []string) {
	c.ReportNode(n, diagnostic.CodeOutOfScope, "a Secret's stringData is never read back, so random would give another value at each evaluation").
		WithHint("generate it in data: %s", yamlPath(readable(path), c.generatedValue(spec, path, n)))
}
