package generated

import (
	"maps"
	"slices"
	"strings"

	"kanon.dev/kanon/rules/celenv"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/flow"
	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/rules/program/rendered"
	"kanon.dev/kanon/rules/reporting"
	"kanon.dev/kanon/rules/scanner"
	"kanon.dev/kanon/rules/syntax"
	"kanon.dev/kanon/rules/yamltree"
)

// Check checks a child whose template and variables are compiled.
type Check struct {
	*reporting.Reporter
	Spec  *syntax.Child
	Child *program.Child
	// Variables are the variables of the child, by name.
	Variables map[string]Variable
	// Uses is what the template reads.
	Uses *flow.Uses
	// Parsed returns the expression if a node is a scalar with one whole expression; else nil.
	Parsed func(n *yamltree.Node) *celenv.Expression
	// Shared reports whether a scalar is in several places, because of YAML aliases.
	Shared func(n *yamltree.Node) bool
}

// Variable is a variable of the child. Uses is what it reads; nil if nothing reads the variable.
type Variable struct {
	*program.Variable
	Spec *syntax.Variable
	Uses *flow.Uses
}

// Run records the fields of a template that are generated once. It reports values that would not be kept, because the
// template does not set the field whose default they are.
func (c *Check) Run() {
	spec, child := c.Spec, c.Child
	kept := map[*yamltree.Node]bool{} // the values, in the template or of variables, that are kept
	var walk func(n *yamltree.Node, path []string)
	walk = func(n *yamltree.Node, path []string) {
		for _, f := range n.Fields {
			if !scanner.HasExpression(f.Name) {
				walk(f.Value, append(slices.Clip(path), f.Name))
			}
		}
		x := c.Parsed(n)
		if x == nil {
			return
		}
		if slices.Contains(c.Uses.Generated, n) && slices.Equal(flow.GeneratedPath(x.Root(), spec.ID), path) {
			kept[n] = true
			child.Generated = append(child.Generated, rendered.GeneratedField{Path: path})
		}
		if v := c.Variables[flow.WholeVariable(x.Root())]; v.Variable != nil && len(v.Generated) > 0 && slices.Equal(v.Generated, path) {
			kept[v.Spec.Value] = true
			child.Generated = append(child.Generated, rendered.GeneratedField{Path: path, Variable: true})
		}
	}
	walk(spec.Template, nil)
	for _, n := range c.Uses.Generated {
		c.checkKept(n, kept[n] && !c.Shared(n))
	}
	for _, name := range slices.Sorted(maps.Keys(c.Variables)) {
		c.checkVariable(c.Variables[name], kept)
	}
}

// checkKept reports a generated value in the template that is not kept.
func (c *Check) checkKept(n *yamltree.Node, kept bool) {
	spec := c.Spec
	path, found := pathTo(spec.Template, n)
	if !found || isIdentity(path) {
		path = examplePath()
	}
	once := value(spec, path, n)
	switch {
	case kept && isUnreadable(c.Child, path):
		c.reportUnreadable(n, path)
	case !kept && found:
		c.ReportNode(n, diagnostic.CodeOutOfScope, "random gives another value at each evaluation, and this is not the field of %s.%s that it is the default of", flow.RootObserved, spec.ID).
			WithHint("let the whole value be that of its own field, as in %s", yamlPath(readable(path), once))
	case !kept:
		c.ReportNode(n, diagnostic.CodeOutOfScope, "random gives another value at each evaluation, and this is not a field of %s.%s that it can be the default of", flow.RootObserved, spec.ID).
			WithHint("let the whole value be that of its own field, as in %s", yamlPath(path, once))
	}
}

// checkVariable reports a generated variable that the template does not keep in the field that the variable reads.
func (c *Check) checkVariable(v Variable, kept map[*yamltree.Node]bool) {
	if v.Uses == nil || len(v.Uses.Generated) == 0 || v.Value == nil {
		return
	}
	at, name := c.At(v.Spec.Value), flow.RootVariables+"."+v.Name
	switch {
	case len(v.Generated) == 0:
		c.Report(at, diagnostic.CodeOutOfScope, "random gives another value at each evaluation, and it is not the whole value of %s that it is the default of", name).
			WithHint("let a variable be nothing but that, as in {name: %s, value: \"%s\"}, and compute others from it", v.Name, value(c.Spec, fieldOf(c.Spec, v.Spec), v.Spec.Value))
	case isUnreadable(c.Child, v.Generated):
		c.reportUnreadable(v.Spec.Value, v.Generated)
	case !kept[v.Spec.Value]:
		c.Report(at, diagnostic.CodeOutOfScope, "%s would be another value at each evaluation, because the template does not keep it in %s, which it reads", name, strings.Join(v.Generated, ".")).
			WithHint("set that field in the template: %s", yamlPath(v.Generated, "${"+name+"}"))
	}
}

// isUnreadable reports whether a field cannot be read back.
func isUnreadable(child *program.Child, path []string) bool {
	return syntax.IsSecret(child.GVK) && len(path) > 0 && path[0] == "stringData"
}

func (c *Check) reportUnreadable(n *yamltree.Node, path []string) {
	c.ReportNode(n, diagnostic.CodeOutOfScope, "a Secret's stringData is never read back, so random would give another value at each evaluation").
		WithHint("generate it in data: %s", yamlPath(readable(path), value(c.Spec, path, n)))
}
