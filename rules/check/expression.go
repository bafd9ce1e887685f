package check

import (
	"cmp"
	"maps"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"

	"kanon.dev/kanon/kinds/openapi"
	"kanon.dev/kanon/rules/celenv"
	"kanon.dev/kanon/rules/celenv/run"
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
	// Conversions has the reads, by node, of values that are text in an object and another type in an expression.
	// Encoded has the reads of values that contain bytes as base64.
	Conversions map[int64]run.Conversion
	Encoded     map[int64]*openapi.Schema

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
			Conversions: map[int64]run.Conversion{}, Encoded: map[int64]*openapi.Schema{},
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
		c.out.Encoded[e.ID()] = v.schema
	} else if m, ok := run.ConversionTo(inner(v.CEL())); ok && computed {
		c.out.Conversions[e.ID()] = m
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

// item checks of[index].
func (c *checker) item(s flow.Step, of, index operand) Type {
	switch typ := of.CEL(); {
	case typ.Kind() == types.ListKind:
		if !Meet(index.CEL(), types.IntType) {
			c.wrongIndex(of, index)
		}
	case isMap(typ):
		if !Meet(asMap(typ).Parameters()[0], index.CEL()) {
			c.wrongIndex(of, index)
		}
	case !hasAnyFields(typ):
		c.report(s.Expr, diagnostic.CodeTypes, "%s and has no items", c.subject(of))
	}
	return c.Table.Element(of.Type)
}

// hasAnyFields reports whether the fields of a value are unknown.
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

// join returns the type of a value that is either a or b.
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

// ranged returns the types of the loop variables.
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
