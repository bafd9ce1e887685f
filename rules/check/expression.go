package check

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"kanon.dev/kanon/restmapping/openapi"
	"kanon.dev/kanon/rules/celenv"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/flow"
	"kanon.dev/kanon/rules/syntax"
)

// Names has the types of the names that an expression may start with.
type Names interface {
	// Name returns the type of a name, and false for a name that the expression itself declares.
	Name(name string) (Type, bool)
	// Member returns the type of a member of a group, such as children.web.
	Member(group, name string) Type
	// Holds returns the paths that exist if a variable is true.
	Holds(variable string) map[string]bool
}

// Input is an expression that passed CEL's checker, with its context.
type Input struct {
	Expr  *celenv.Expression
	Table *Table
	Names Names
	// Parent is the parent of the rule.
	Parent *syntax.Parent
	// Exists has the paths that exist wherever the expression is evaluated.
	Exists map[string]bool
	// Fails reports whether the expression fails, instead of waiting, if the read at a node finds nothing.
	Fails func(id int64) bool
	// At is the position of an offset in the expression. Quote is the quote to use for text in it.
	At    func(offset int) diagnostic.Position
	Quote string
	// Report reports a finding about a node or, if name is not empty, about that name in it.
	Report func(id int64, name string, code diagnostic.Code, format string, args ...any) *diagnostic.Finding
}

// Expression is the result of Check.
type Expression struct {
	// Type is the type of the value.
	Type
	// Exist has the paths that exist if the value is true.
	Exist map[string]bool
	// Conversions has the reads, by node, of values that are another type in an expression than in an object.
	Conversions map[int64]celenv.Conversion

	expr *celenv.Expression
	// nodes has the types of the nodes.
	nodes map[int64]Type
	// missing has the reads of fields that may be missing.
	missing map[int64]MissingRead
}

// Path returns the source of the whole expression if it is a path, and short enough for a message; else "".
func (x *Expression) Path() string { return pathText(x.expr, x.expr.Root()) }

// Parsed returns the expression itself.
func (x *Expression) Parsed() *celenv.Expression { return x.expr }

// TypeAt returns the type of a node.
func (x *Expression) TypeAt(e ast.Expr) Type {
	if v, walked := x.nodes[e.ID()]; walked {
		return v
	}
	return Of(x.expr.TypeOf(e.ID()))
}

// MissingRead returns what was reported about a node that reads a field which may be missing.
func (x *Expression) MissingRead(e ast.Expr) (MissingRead, bool) {
	read, ok := x.missing[e.ID()]
	return read, ok
}

// checker walks over one expression with the types that schemas give to its reads, and reports findings. Apart from the
// conversions, the running program does not depend on it.
type checker struct {
	Input
	out *Expression
	// inPath has the reads that are only the start of a longer path.
	inPath map[int64]bool
	// asked has the paths that are known to exist, warned those that were reported as possibly missing.
	asked, warned map[string]bool
	// defaulted has the paths that exist where a condition with a default is true; see collectDefaulted. It is nil until
	// it is needed.
	defaulted map[string]bool
	// joined has the operands of && and || that are checked together with the operator above them.
	joined map[int64]bool
}

// bindings has the types of the names that the expression itself declares.
type bindings = celenv.Bindings[Type]

// Check finds the types in an expression.
func Check(in Input) *Expression {
	c := &checker{
		Input: in, inPath: map[int64]bool{}, asked: map[string]bool{}, warned: map[string]bool{}, joined: map[int64]bool{},
		out: &Expression{
			expr: in.Expr, nodes: map[int64]Type{}, missing: map[int64]MissingRead{},
			Conversions: map[int64]celenv.Conversion{},
		},
	}
	maps.Copy(c.asked, in.Exists)
	for _, e := range in.Expr.Nodes() {
		c.collectAsked(e, c.asked)
	}
	if c.out.Type = c.walk(in.Expr.Root(), nil, false); c.out.group != "" {
		c.out.Type = Type{} // a name such as children without a member; that was reported
	}
	// Paths that are read without asking exist if there is a result.
	c.out.Exist = c.warned
	for _, e := range celenv.Terms(in.Expr.Root(), operators.LogicalAnd) {
		c.collectAsked(e, c.out.Exist)
		c.collectDefaulted(e, c.out.Exist)
	}
	return c.out
}

func (c *checker) report(e ast.Expr, code diagnostic.Code, format string, args ...any) *diagnostic.Finding {
	return c.Report(e.ID(), "", code, format, args...)
}

// value returns the type of a node whose value the expression computes with.
func (c *checker) value(e ast.Expr, env bindings) Type { return c.walk(e, env, true) }

// walk returns the type of a node. computed is false if the value goes into the result unchanged.
func (c *checker) walk(e ast.Expr, env bindings, computed bool) Type {
	out := c.node(e, env, computed)
	c.out.nodes[e.ID()] = out
	return out
}

func (c *checker) node(e ast.Expr, env bindings, computed bool) Type {
	if step, ok := flow.StepOf(e); ok {
		return c.read(e, c.step(step, env), computed)
	}
	switch e.Kind() {
	case ast.IdentKind:
		return c.read(e, c.name(e, env), computed)
	case ast.CallKind:
		return c.call(e, env, computed)
	case ast.ListKind:
		return c.list(e.AsList(), env, computed)
	case ast.MapKind:
		return c.mapping(e.AsMap(), env, computed)
	case ast.ComprehensionKind:
		return c.loop(e.AsComprehension(), env)
	default:
		return Of(c.Expr.TypeOf(e.ID()))
	}
}

// read records the conversion that the value of a read needs.
func (c *checker) read(e ast.Expr, v Type, computed bool) Type {
	if !c.inPath[e.ID()] && c.Table.hasBytes(v.schema) {
		c.out.Conversions[e.ID()] = celenv.Conversion{Schema: v.schema}
	} else if schema := celenv.ConversionTo(inner(v.CEL())); schema != nil && computed {
		c.out.Conversions[e.ID()] = celenv.Conversion{Schema: schema, Typed: true}
	}
	return v
}

func (c *checker) name(e ast.Expr, env bindings) Type {
	if v, ok := env[e.AsIdent()]; ok {
		return v
	}
	if v, ok := c.Names.Name(e.AsIdent()); ok {
		return v
	}
	return Of(c.Expr.TypeOf(e.ID()))
}

// step checks of.name or of[index].
func (c *checker) step(s flow.Step, env bindings) Type {
	c.inPath[s.Operand.ID()] = true
	of := operand{s.Operand, c.walk(s.Operand, env, false)}
	s.Optional = s.Optional || IsOptional(of.CEL())
	var out Type
	if s.Literal && (s.Index == nil || of.Inner().Kind() != types.ListKind) {
		out = c.field(s, of)
	} else {
		index := operand{s.Index, c.value(s.Index, env)}
		of.Type = of.Inner()
		out = c.item(s, of, index)
	}
	switch {
	case s.Asks:
		return Of(types.BoolType)
	case s.Optional && !IsOptional(out.CEL()):
		out.cel = types.NewOptionalType(out.CEL())
	}
	return out
}

// field checks of.name in all its spellings.
func (c *checker) field(s flow.Step, of operand) Type {
	read := !s.Asks && !s.Optional
	if of.group != "" {
		if s.Asks {
			return Type{}
		}
		return c.Names.Member(of.group, s.Name)
	}
	of.Type = of.Inner()
	switch typ := of.CEL(); {
	case hasAnyFields(typ):
		return Type{}
	case kindOf(typ) == types.StructKind:
		object := c.Table.schemaOf(of.Type)
		below, ok := object.At(s.Name)
		if !ok {
			c.unknownField(s, object)
		}
		if field := object.Fields[s.Name]; read && field != nil {
			c.mayBeMissing(s, field)
		}
		return c.Table.Of(below)
	case typ.Kind() == types.MapKind:
		if key := typ.Parameters()[0]; !Meet(key, types.StringType) {
			c.report(s.Expr, diagnostic.CodeTypes, "the keys of %s are no strings: each is %s", cmp.Or(c.path(of.e), "this map"), Of(key))
		}
		if read {
			c.labelMayBeMissing(s)
		}
		return c.Table.Element(of.Type)
	default:
		c.noFields(s, of)
		return Type{}
	}
}

func (c *checker) item(s flow.Step, of, index operand) Type {
	switch typ := of.CEL(); {
	case typ.Kind() == types.ListKind:
		if !Meet(index.CEL(), types.IntType) {
			c.wrongIndex(of, index)
		}
		if n, ok := index.e.AsLiteral().(types.Int); ok && index.e.Kind() == ast.LiteralKind && n < 0 {
			in := cmp.Or(c.path(of.e), "list")
			c.report(index.e, diagnostic.CodeTypes, "a list has no item %d", int64(n)).WithHint("write %[1]s[%[1]s.size() - %[2]d]", in, -int64(n))
		}
	case isMap(typ):
		if !Meet(asMap(typ).Parameters()[0], index.CEL()) {
			c.wrongIndex(of, index)
		}
	case !hasAnyFields(typ):
		f := c.report(s.Expr, diagnostic.CodeTypes, "%s and has no items", c.subject(of))
		if of.Kind() == types.StringKind {
			f.WithHint("write %s.charAt(…) for a character", cmp.Or(c.path(of.e), "text"))
		}
	}
	return c.Table.Element(of.Type)
}

func hasAnyFields(t *types.Type) bool {
	return isLoose(t) || t.Kind() == types.NullTypeKind || t.Kind() == types.OpaqueKind
}

func (c *checker) list(l ast.ListExpr, env bindings, computed bool) Type {
	item := Of(NoType())
	for i, e := range l.Elements() {
		v := c.walk(e, env, computed)
		if l.IsOptional(int32(i)) { //nolint:gosec // A list in an expression is short.
			v = v.Inner()
		}
		item = c.join(item, v)
	}
	return Of(types.NewListType(item.CEL()))
}

func (c *checker) mapping(m ast.MapExpr, env bindings, computed bool) Type {
	key, value := Of(NoType()), Of(NoType())
	for _, entry := range m.Entries() {
		pair := entry.AsMapEntry()
		key = c.join(key, c.value(pair.Key(), env))
		v := c.walk(pair.Value(), env, computed)
		if pair.IsOptional() {
			v = v.Inner()
		}
		value = c.join(value, v)
	}
	return Of(types.NewMapType(key.CEL(), value.CEL()))
}

func (c *checker) join(a, b Type) Type {
	out := c.Table.fromCEL(Join(a.CEL(), b.CEL()))
	switch {
	case a.schema != nil && (a.schema == b.schema || b.Kind() == types.NullTypeKind):
		out.schema = a.schema
	case b.schema != nil && a.Kind() == types.NullTypeKind:
		out.schema = b.schema
	}
	return out
}

// loop checks a comprehension, which macros such as all() and map() expand to.
func (c *checker) loop(l ast.ComprehensionExpr, env bindings) Type {
	over := c.walk(l.IterRange(), env, false)
	if typ := over.CEL(); typ.Kind() != types.ListKind && !isMap(typ) && !isLoose(typ) {
		c.report(l.IterRange(), diagnostic.CodeTypes, "%s, and a loop needs a list or a map", c.subject(operand{l.IterRange(), over})).
			Hint = optionalHint(c.path(l.IterRange()), over)
	}
	start := c.walk(l.AccuInit(), env, false)
	gathered := map[string]Type{l.AccuVar(): start}
	if l.IterVar() == "#unused" { // cel.bind
		return c.value(l.Result(), env.With(gathered))
	}
	inner := env.With(c.ranged(l, over)).With(gathered)
	step := c.value(l.LoopStep(), inner)
	if joined := Join(start.CEL(), step.CEL()); !joined.IsExactType(start.CEL()) {
		gathered[l.AccuVar()] = c.Table.fromCEL(joined)
	}
	c.value(l.LoopCondition(), inner.With(gathered))
	return c.value(l.Result(), env.With(gathered))
}

func (c *checker) ranged(l ast.ComprehensionExpr, over Type) map[string]Type {
	first, second := Type{}, c.Table.Element(over)
	switch kind := over.Kind(); {
	case isMap(over.CEL()):
		first = Of(types.StringType)
	case kind == types.ListKind && l.HasIterVar2():
		first = Of(types.IntType)
	case kind == types.ListKind:
		first, second = second, Type{}
	}
	out := map[string]Type{l.IterVar(): first}
	if l.HasIterVar2() {
		out[l.IterVar2()] = second
	}
	return out
}

// isAccumulator reports whether a node is the accumulator of a loop, which macros add and no author writes.
func isAccumulator(e ast.Expr) bool {
	return e.Kind() == ast.IdentKind && strings.HasPrefix(e.AsIdent(), "@")
}

func (c *checker) call(e ast.Expr, env bindings, computed bool) Type {
	function := e.AsCall().FunctionName()
	switch function {
	case operators.Conditional:
		return c.choice(e, env, computed)
	case operators.Equals, operators.NotEquals:
		return c.equality(e, env)
	case operators.In:
		return c.membership(e, env)
	case operators.LogicalAnd, operators.LogicalOr:
		c.checkTerms(e, function)
	}
	passed := isPassing(function)
	var operands []operand
	var cel []*types.Type
	for _, o := range celenv.Operands(e) {
		given := c.walk(o, env, computed || !passed)
		operands, cel = append(operands, operand{o, given}), append(cel, given.CEL())
	}
	result, wrong := call(c.Expr.Env(), function, e.AsCall().IsMemberFunction(), cel)
	if wrong >= 0 {
		c.wrongOperand(e, operands, wrong)
		return Type{}
	}
	c.checkIncludes(e, operands)
	c.checkQuantities(e, operands)
	out := c.Table.fromCEL(result)
	if !passed || len(operands) == 0 {
		return out
	}
	if s := operands[0].schema; s != nil && inner(result).IsExactType(c.Table.celType(s)) && (len(operands) == 1 || keepsEnum(s, operands[1].e)) {
		out.schema = s
	}
	return out
}

// keepsEnum reports whether a default is one of the values that a field can have.
func keepsEnum(s *openapi.Schema, value ast.Expr) bool {
	return len(s.Enum) == 0 || value.Kind() == ast.LiteralKind && inEnum(s, value.AsLiteral())
}

func inEnum(s *openapi.Schema, val ref.Val) bool {
	return slices.ContainsFunc(s.Enum, func(allowed any) bool { return types.Equal(celenv.FromJSON(allowed), val) == types.True })
}

func isPassing(function string) bool {
	switch function {
	case "dyn", "optional.of", "optional.ofNonZeroValue", "value", "or", "orValue", "hasValue":
		return true
	}
	return false
}

// choice checks condition ? yes : no.
func (c *checker) choice(e ast.Expr, env bindings, computed bool) Type {
	args := e.AsCall().Args()
	c.mustBeBool(operand{args[0], c.value(args[0], env)}, "the condition before ?", args[1], args[2])
	yes, no := c.walk(args[1], env, computed), c.walk(args[2], env, computed)
	switch refused := len(c.Expr.Issues()) > 0; {
	case refused && flow.IsNullLiteral(args[1]) != flow.IsNullLiteral(args[2]):
		// CEL's checker takes null for a few types only.
		c.differentBranches(e, operand{args[1], yes}, operand{args[2], no})
	case yes.group != no.group:
		return Type{}
	case yes.group != "":
		return yes
	case Meet(yes.CEL(), no.CEL()):
		return c.join(yes, no)
	case yes.Kind() != no.Kind(): // two maps with values of different types are fine
		c.differentBranches(e, operand{args[1], yes}, operand{args[2], no})
	}
	return Type{}
}

func (c *checker) equality(e ast.Expr, env bindings) Type {
	args := e.AsCall().Args()
	lhs, rhs := c.value(args[0], env), c.value(args[1], env)
	if !Meet(lhs.CEL(), rhs.CEL()) {
		c.neverEqual(e, operand{args[0], lhs}, operand{args[1], rhs})
	} else if !c.checkEnum(args[1], args[0], lhs) {
		c.checkEnum(args[0], args[1], rhs)
	}
	return Of(types.BoolType)
}

func (c *checker) membership(e ast.Expr, env bindings) Type {
	args := e.AsCall().Args()
	item, in := c.value(args[0], env), c.value(args[1], env)
	switch typ := in.CEL(); {
	case args[1].Kind() == ast.ListKind:
		for _, literal := range args[1].AsList().Elements() {
			if v := Of(c.Expr.TypeOf(literal.ID())); !Meet(v.CEL(), item.CEL()) {
				c.neverEqual(literal, operand{args[0], item}, operand{literal, v})
			} else {
				c.checkEnum(literal, args[0], item)
			}
		}
	case typ.Kind() == types.ListKind || isMap(typ):
		element := c.Table.Element(in)
		if isMap(typ) {
			element = Of(asMap(typ).Parameters()[0])
		}
		if !Meet(item.CEL(), element.CEL()) {
			c.neverIn(e, operand{args[0], item}, operand{args[1], element})
		} else {
			c.checkEnum(args[0], args[1], element)
		}
	case !isLoose(typ) && typ.Kind() != types.NullTypeKind:
		c.wrongOperand(e, []operand{{args[0], item}, {args[1], in}}, 1)
	}
	return Of(types.BoolType)
}
