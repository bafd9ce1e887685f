package rules

import (
	"slices"
	"strings"
	"time"

	"github.com/google/cel-go/common/types"
	"k8s.io/apimachinery/pkg/util/validation"

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
	constant *constantVariable
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

func (c *compiler) constantsOf(sc *compileScope) constantVariables {
	return func(name string) *constantVariable {
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

// form is what a scalar must give that stands for text, a duration, a policy and the like.
type form struct {
	// what names the form in messages. kinds are the types of expressions that can give it.
	what  string
	kinds []types.Kind
	check attempt
}

func message() form {
	return form{"a string", []types.Kind{types.StringKind}, attemptOf(program.TextOf)}
}

// reason is one word of at most so many bytes.
func reason(longest int) form {
	return form{"a string", []types.Kind{types.StringKind}, attemptOf(func(t program.Template, s program.Scope) (string, *program.Problem) {
		return program.ReasonOf(t, s, longest)
	})}
}

func objectName(field string) form {
	check := syntax.IsPathSegment
	if field == "namespace" {
		check = validation.IsDNS1123Label
	}
	return form{"a string", []types.Kind{types.StringKind}, attemptOf(func(t program.Template, s program.Scope) (string, *program.Problem) {
		return program.NameOf(t, s, field, check)
	})}
}

func conditionStatus() form {
	return form{"true or false, or True, False or Unknown", []types.Kind{types.BoolKind, types.StringKind}, attemptOf(program.ConditionStatusOf)}
}

// aDeletionPolicy names a deletion policy in messages.
const aDeletionPolicy = "Delete or Orphan"

func deletionPolicy() form {
	return form{aDeletionPolicy, []types.Kind{types.StringKind}, attemptOf(program.DeletionPolicyOf)}
}

func share() form {
	return form{"an int, or text such as 25%", []types.Kind{types.IntKind, types.StringKind}, attemptOf(program.ShareOf)}
}

func duration(least time.Duration) form {
	kinds := []types.Kind{types.DurationKind, types.StringKind, types.NullTypeKind}
	return form{"a duration, or text such as 10m", kinds, attemptOf(func(t program.Template, s program.Scope) (time.Duration, *program.Problem) {
		return program.DurationOf(t, s, least)
	})}
}

// field compiles a scalar that must give a form; nil for nil.
func (c *compiler) field(n *yamltree.Node, sc *compileScope, u *flow.Uses, f form) program.Template {
	if n == nil {
		return nil
	}
	t := c.scalar(n, sc, u, f)
	c.constants.Try(n, t, c.constantsOf(sc), sc.Place, f.check)
	return t
}

// scalar compiles a scalar. A single expression must have one of the form's types, as far as its type is known.
func (c *compiler) scalar(n *yamltree.Node, sc *compileScope, u *flow.Uses, f form) program.Template {
	whole, ok := yamltree.WholeOf(n)
	if !ok || whole.Spread {
		t, _ := c.template(n, sc, u)
		return t
	}
	x, _ := c.expression(n, whole, sc, u)
	if x == nil {
		return nil
	}
	isText := x.IsText() && slices.Contains(f.kinds, types.StringKind) // a time in an object is text
	if !isText && !x.CanBe(f.kinds...) {
		wrong := c.ReportSpan(n, whole.Offset, len(whole.Text), diagnostic.CodeResultType, "%s must be %s, and this gives %s", sc.Place, f.what, x.Type)
		noText, _ := x.TextHint()
		if len(f.kinds) == 1 && f.kinds[0] == types.StringKind && noText == "" && f.what != aDeletionPolicy || x.Inner().Kind() == types.BytesKind {
			wrong.WithHint("write string(…) around it")
			c.wrapInString(wrong, n, whole)
		}
		return nil
	}
	x.goesInto(textSchema())
	return program.Expr{X: x.run}
}
