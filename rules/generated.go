package rules

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"kanon.dev/kanon/rules/celenv"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/flow"
	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/rules/syntax"
	"kanon.dev/kanon/rules/yamltree"
)

// random returns another value at each evaluation. So it is only allowed where its value is used once: in the template
// and the variables of a child with updatePolicy: CreateOnly, and as the default of a field that is generated once, as in
//
//	data: {password: "${observed.secret.?data.?password.orValue(bytes(random(24)))}"}
//
// The template must set the field that the expression reads (program/generated.go keeps the values). Expressions that read
// the child read the live object, which has the value with which it was created.

// generatedIn is a child with generated values.
type generatedIn struct {
	*compiler
	spec *syntax.Child
	out  *program.Child
}

// checkGenerated records the fields of a compiled template that are generated once. It reports values that would not be
// kept, because the template does not set the field whose default they are. u is what the template reads.
func (c *compiler) checkGenerated(spec *syntax.Child, child *program.Child, locals map[string]*variable, u *flow.Uses) {
	kept := map[*yamltree.Node]bool{} // the values, in the template or of variables, that are kept
	var walk func(n *yamltree.Node, path []string)
	walk = func(n *yamltree.Node, path []string) {
		for _, f := range n.Fields {
			if !yamltree.HasExpression(f.Name) {
				walk(f.Value, append(slices.Clip(path), f.Name))
			}
		}
		x := c.parsed(n)
		if x == nil {
			return
		}
		if slices.Contains(u.Generated, n) && slices.Equal(flow.GeneratedPath(x.Root(), spec.ID), path) {
			kept[n] = true
			child.Generated = append(child.Generated, program.GeneratedField{Path: path})
		}
		if v := locals[flow.WholeVariable(x.Root())]; v != nil && len(v.Generated) > 0 && slices.Equal(v.Generated, path) {
			kept[v.spec.Value] = true
			child.Generated = append(child.Generated, program.GeneratedField{Path: path, Variable: true})
		}
	}
	walk(spec.Template, nil)
	in := generatedIn{c, spec, child}
	for _, n := range u.Generated {
		in.checkKept(n, kept[n] && len(c.results[n].others) == 0)
	}
	for _, name := range slices.Sorted(maps.Keys(locals)) {
		in.checkVariable(locals[name], kept)
	}
}

func (c generatedIn) checkKept(n *yamltree.Node, kept bool) {
	of := flow.RootObserved + "." + c.spec.ID
	switch path, found := pathTo(c.spec.Template, n); {
	case kept && isUnreadable(c.out, path):
		c.reportUnreadable(n)
	case !kept && found:
		c.ReportNode(n, diagnostic.CodeOutOfScope, "random gives another value at each evaluation, and this is not the field of %s that it is the default of", of).
			WithHint("let the whole value be that of its own field, as in %s", onceExample(c.spec))
	case !kept:
		c.ReportNode(n, diagnostic.CodeOutOfScope, "random gives another value at each evaluation, and this is not a field of %s that it can be the default of", of).
			WithHint("let the whole value be that of its own field, as in %s", onceExample(c.spec))
	}
}

// checkVariable reports a generated variable that the template does not keep in the field that the variable reads.
func (c generatedIn) checkVariable(v *variable, kept map[*yamltree.Node]bool) {
	if v.uses == nil || len(v.uses.Generated) == 0 || v.Value == nil {
		return
	}
	at, name := c.At(v.spec.Value), flow.RootVariables+"."+v.Name
	switch {
	case len(v.Generated) == 0:
		c.Report(at, diagnostic.CodeOutOfScope, "random gives another value at each evaluation, and it is not the whole value of %s that it is the default of", name).
			WithHint("let a variable be nothing but a field with its default, such as the field in %s, and compute others from it", onceExample(c.spec))
	case isUnreadable(c.out, v.Generated):
		c.reportUnreadable(v.spec.Value)
	case !kept[v.spec.Value]:
		field := strings.Join(v.Generated, ".")
		c.Report(at, diagnostic.CodeOutOfScope, "%s would be another value at each evaluation, because the template does not keep it in %s, which it reads", name, field).
			WithHint("set %s to ${%s} in the template", field, name)
	}
}

func isUnreadable(child *program.Child, path []string) bool {
	return syntax.IsSecret(child.GVK) && len(path) > 0 && path[0] == "stringData"
}

func (c generatedIn) reportUnreadable(n *yamltree.Node) {
	c.ReportNode(n, diagnostic.CodeOutOfScope, "a Secret's stringData is never read back, so random would give another value at each evaluation").
		WithHint("generate it in data: %s", onceExample(c.spec))
}

// RandomHint says how to keep the random value of the expression.
func (s *names) RandomHint() string {
	const once = "call it in the template, or in a variable, of a child with updatePolicy: CreateOnly"
	if spec := s.c.children[s.sc.OwnGenerated]; spec != nil {
		return fmt.Sprintf("generate it once, in the template, as in %s; or %s", onceExample(spec), once)
	}
	return once + ", and read the value from that child"
}

// onceExample is a field of a child that is generated once.
func onceExample(spec *syntax.Child) string {
	call := celenv.RandomName + "(24)"
	if syntax.IsSecret(syntax.TemplateGVK(spec.Template)) {
		call = "bytes(" + call + ")"
	}
	return fmt.Sprintf(`data: {password: "${%s.%s.?data.?password.orValue(%s)}"}`, flow.RootObserved, spec.ID, call)
}

// pathTo returns the path from a template to a value in it. It returns false if the value is in a list, below a
// computed key, or not in the template.
func pathTo(in, n *yamltree.Node) ([]string, bool) {
	for _, f := range in.Entries() {
		if yamltree.HasExpression(f.Name) {
			continue
		}
		if f.Value == n {
			return []string{f.Name}, true
		}
		if path, ok := pathTo(f.Value, n); ok {
			return append([]string{f.Name}, path...), true
		}
	}
	return nil, false
}
