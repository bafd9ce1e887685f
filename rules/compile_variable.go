package rules

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/cel-go/common/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"kanon.dev/kanon/rules/check"
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

// origin is what is known of a value: where it comes from, and its type.
type origin struct {
	flow.Origin
	typ check.Type
	// holds are, for a variable, the paths that exist if it is true.
	holds map[string]bool
}

// Moves reports whether the value can change with every second. A nil origin does not.
func (o *origin) Moves() bool { return o != nil && o.Origin.Moves() }

// names resolves the names in an expression. It compiles the variables and the lookups that the expression reads.
type names struct {
	c  *compiler
	sc *compileScope
}

// Origin is where the value of a name of the scope comes from; nil for every other name.
func (s *names) Origin(name string) *flow.Origin {
	if o, ok := s.sc.names[name]; ok {
		return &o.Origin
	}
	return nil
}

// Variable is a variable of the rule or of the scope; nil if no variable has the name.
func (s *names) Variable(name string) *flow.Variable {
	v := s.c.variable(s.sc, name)
	if v == nil {
		return nil
	}
	out := &flow.Variable{Uses: v.uses, Local: s.sc.locals[name] != nil, StandsFor: v.standsFor}
	if v.origin != nil {
		out.Origin = &v.origin.Origin
	}
	return out
}

// Lookup is a lookup of the rule; nil if no lookup has the id.
func (s *names) Lookup(id string) *flow.Lookup {
	if l := s.c.lookups[id]; l != nil {
		s.c.compileLookup(l)
	}
	return s.c.lookup(id)
}

// Members lists the names that can follow a root. It leaves out the part of the rule that the expression belongs to.
func (s *names) Members(root string) []string {
	var all []string
	switch root {
	case flow.RootVariables:
		all = slices.AppendSeq(slices.Collect(maps.Keys(s.c.variables)), maps.Keys(s.sc.locals))
		slices.Sort(all)
	case flow.RootLookups:
		all = slices.Sorted(maps.Keys(s.c.lookups))
	case flow.RootEach:
		return s.sc.Family
	default:
		all = slices.Sorted(maps.Keys(s.c.children))
	}
	return slices.DeleteFunc(all, func(name string) bool {
		own := root + "." + name
		return slices.ContainsFunc(s.c.stack, func(p pending) bool { return p.name == own }) || s.sc.Place == own || strings.HasPrefix(s.sc.Place, own+".")
	})
}

// Name is the type of a name in an expression.
func (s *names) Name(name string) (check.Type, bool) {
	switch name {
	case flow.RootParent:
		return s.c.kindType(s.c.rule.Parent.GVK, false), true
	case flow.RootNow:
		return check.Of(types.TimestampType), true
	case flow.RootFinalizing:
		return check.Of(types.BoolType), true
	}
	if flow.IsGroup(name) {
		return check.Group(name), true
	}
	o, ok := s.sc.names[name]
	if !ok {
		return check.Type{}, false
	}
	return o.typ, true
}

// Member is the type of a member of a group.
func (s *names) Member(group, name string) check.Type {
	switch group {
	case flow.RootChildren, flow.RootObserved, flow.RootEach:
		if spec := s.c.children[name]; spec != nil {
			return s.c.kindType(syntax.TemplateGVK(spec.Template), spec.Many() && group != flow.RootEach)
		}
	case flow.RootLookups:
		if l := s.c.lookups[name]; l != nil {
			return s.c.kindType(l.spec.GVK, l.spec.IsList())
		}
	case flow.RootVariables:
		if v := s.c.variable(s.sc, name); v != nil && v.origin != nil {
			return v.origin.typ
		}
	}
	return check.Type{}
}

// Holds are the paths that exist if a variable is true.
func (s *names) Holds(variable string) map[string]bool {
	if v := s.c.variable(s.sc, variable); v != nil && v.origin != nil {
		return v.origin.holds
	}
	return nil
}
