package rules

import (
	"slices"
	"strings"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/flow"
	"kanon.dev/kanon/rules/syntax"
	"kanon.dev/kanon/rules/yamltree"
)

// compiledVariable is a variable of the rule or of a child.
type compiledVariable struct {
	name  string
	index int // among the rule's, or among the child's
	value template
	// generated is the path of the field that the variable reads from the child's own observed
	// object, where the default is made at random; nil for every other variable.
	generated []string
	// standsFor is what the variable stands for, such as lookups.db.status, where that is all it is;
	// empty for every other variable.
	standsFor string
	// origin and uses are for the compiler.
	origin *origin
	uses   *flow.Uses
	spec   syntax.Variable
	state  compileState
}

type compileState uint8

const (
	stateNew compileState = iota
	stateCompiling
	stateDone
)

func (v *compiledVariable) release() {
	v.origin, v.uses, v.spec, v.standsFor = nil, nil, syntax.Variable{}, ""
}

// variable finds a variable and compiles it if that has not been done.
func (c *compiler) variable(sc *compileScope, name string) *compiledVariable {
	if v := sc.locals[name]; v != nil {
		return c.compileVariable(v, sc)
	}
	if v := c.variables[name]; v != nil {
		return c.compileVariable(v, c.ruleScope("spec.variables"))
	}
	return nil
}

func (c *compiler) compileVariable(v *compiledVariable, sc *compileScope) *compiledVariable {
	switch v.state {
	case stateDone:
		return v
	case stateCompiling:
		c.reportCycle(v.spec.Pos, flow.RootVariables+"."+v.name)
		v.state, v.uses = stateDone, &flow.Uses{}
		return v
	}
	if v.spec.Value == nil { // the reason was reported
		v.state, v.uses = stateDone, &flow.Uses{}
		return v
	}
	v.state = stateCompiling
	c.stack = append(c.stack, flow.RootVariables+"."+v.name)
	u := &flow.Uses{}
	inner := *sc
	inner.mayMove, inner.random, inner.own = true, sc.ownRandom, sc.ownGenerated
	// What the variable shares by an anchor with what reads it counts there.
	results := c.results
	c.results = map[*yamltree.Node]result{}
	value, from := c.template(v.spec.Value, &inner, u)
	if x := c.results[v.spec.Value].x; x != nil {
		v.standsFor = x.plainPath
		if slices.Contains(u.Generated, v.spec.Value) {
			v.generated = flow.GeneratedPath(x.expr.Root(), inner.own)
		}
	}
	c.results = results
	c.stack = c.stack[:len(c.stack)-1]
	v.state, v.value, v.origin, v.uses = stateDone, value, from, u
	return v
}

// reportCycle reports a variable or a lookup that needs itself. It is among those
// that are being compiled.
func (c *compiler) reportCycle(pos diagnostic.Position, name string) {
	from := max(slices.Index(c.stack, name), 0)
	cycle := append(slices.Clone(c.stack[from:]), name)
	path, what := strings.Join(cycle, " → "), "the variables "
	if strings.Contains(path, flow.RootLookups+".") {
		what = ""
	} else {
		path = strings.ReplaceAll(path, flow.RootVariables+".", "")
	}
	c.report(pos, diagnostic.CodeVariableCycle, "%s%s depend on each other", what, path)
}
