package rules

import (
	"slices"
	"strings"

	"kanon.dev/kanon/rules/constant"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/flow"
	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/rules/syntax"
	"kanon.dev/kanon/rules/yamltree"
)

// variable is a variable of the rule, or of a child, a lookup or a patch, while the rule is compiled.
type variable struct {
	*program.Variable
	spec   syntax.Variable
	origin *origin
	uses   *flow.Uses
	state  compileState
	// standsFor is the path of which the variable consists, such as lookups.db.status; empty for every other variable.
	standsFor string
	// constant is its value if that is always the same; else nil.
	constant *constant.Variable
}

func newVariable(spec syntax.Variable, index int) *variable {
	return &variable{Variable: &program.Variable{Name: spec.Name, Index: index}, spec: spec}
}

type compileState uint8

const (
	stateNew compileState = iota
	stateCompiling
	stateDone
)

// variable finds a variable, and compiles it unless it is compiled already.
func (c *compiler) variable(sc *compileScope, name string) *variable {
	if v := sc.locals[name]; v != nil {
		return c.compileVariable(v, sc)
	}
	if v := c.variables[name]; v != nil {
		return c.compileVariable(v, c.ruleScope("spec.variables"))
	}
	return nil
}

func (c *compiler) compileVariable(v *variable, sc *compileScope) *variable {
	switch v.state {
	case stateDone:
		return v
	case stateCompiling:
		c.reportCycle(v.spec.Pos, flow.RootVariables+"."+v.Name)
		v.state, v.uses = stateDone, &flow.Uses{}
		return v
	}
	if v.spec.Value == nil { // the reason was reported
		v.state, v.uses = stateDone, &flow.Uses{}
		return v
	}
	v.state = stateCompiling
	c.stack = append(c.stack, pending{flow.RootVariables + "." + v.Name, v.spec.Pos})
	u := &flow.Uses{}
	inner := *sc
	inner.MayMove, inner.Random, inner.Own = true, sc.OwnRandom, sc.OwnGenerated
	// What reads the variable may share a node with it by a YAML anchor. The results of the two are kept apart.
	results := c.results
	c.results = map[*yamltree.Node]result{}
	value, from := c.template(v.spec.Value, &inner, u)
	if x := c.results[v.spec.Value].x; x != nil {
		v.standsFor = x.plainPath
		if slices.Contains(u.Generated, v.spec.Value) {
			v.Generated = flow.GeneratedPath(x.expr.Root(), inner.Own)
		}
	}
	c.results = results
	c.stack = c.stack[:len(c.stack)-1]
	v.state, v.Value, v.origin, v.uses = stateDone, value, from, u
	if !inner.off {
		v.constant = c.constants.Variable(v.spec.Value, value, c.constantsOf(&inner), flow.RootVariables+"."+v.Name)
	}
	return v
}

// constantsOf are the constant variables that the expressions of a scope read.
func (c *compiler) constantsOf(sc *compileScope) constant.Variables {
	return func(name string) *constant.Variable {
		if v := sc.locals[name]; v != nil {
			return v.constant
		}
		if v := c.variables[name]; v != nil {
			return v.constant
		}
		return nil
	}
}

// pending is a variable or a lookup that is being compiled.
type pending struct {
	name string
	pos  diagnostic.Position
}

// reportCycle reports a variable or a lookup that depends on itself. It is in the stack of those that are being
// compiled.
func (c *compiler) reportCycle(pos diagnostic.Position, name string) {
	from := max(slices.IndexFunc(c.stack, func(p pending) bool { return p.name == name }), 0)
	var cycle []string
	for _, p := range c.stack[from:] {
		cycle = append(cycle, p.name)
	}
	cycle = append(cycle, name)
	path, what := strings.Join(cycle, " → "), "the variables "
	if strings.Contains(path, flow.RootLookups+".") {
		what = ""
	} else {
		path = strings.ReplaceAll(path, flow.RootVariables+".", "")
	}
	f := c.Report(pos, diagnostic.CodeVariableCycle, "%s%s depend on each other", what, path)
	for i, p := range c.stack[from:] {
		if p.pos != pos {
			f.WithRelated(p.pos, "which needs %s", strings.TrimPrefix(cycle[i+1], flow.RootVariables+"."))
		}
	}
}
