package celenv

import (
	"cmp"
	"iter"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"

	"kanon.dev/kanon/rules/diagnostic"
)

// Expression is a parsed expression. Once it is checked, its nodes have types. It is immutable.
type Expression struct {
	env    *Env
	text   string
	ast    *ast.AST
	issues []Issue
}

// Issues returns what CEL's checker found wrong.
func (x *Expression) Issues() []Issue { return x.issues }

// Text returns the expression as written.
func (x *Expression) Text() string { return x.text }

// Root returns the expression's outermost node.
func (x *Expression) Root() ast.Expr { return x.ast.Expr() }

// Type returns the type of the expression's value without schemas; types.DynType if it is not known.
func (x *Expression) Type() *types.Type { return x.ast.GetType(x.ast.Expr().ID()) }

// TypeOf returns the type of a node without schemas.
func (x *Expression) TypeOf(id int64) *types.Type { return x.ast.GetType(id) }

// Offset returns the byte of the text at which a node is; -1 if that is not known.
func (x *Expression) Offset(id int64) int {
	r, ok := x.ast.SourceInfo().GetOffsetRange(id)
	if !ok {
		return -1
	}
	return diagnostic.ByteOf(x.text, int(r.Start)) // cel-go's offsets are in code points
}

// Start returns the first byte of the text at which a node, or one below it, is; -1 if that is not known.
func (x *Expression) Start(e ast.Expr) int {
	first := -1
	for below := range All(e) {
		if at := x.Offset(below.ID()); at >= 0 && (first < 0 || at < first) {
			first = at
		}
	}
	return first
}

// Source writes a node as CEL's formatter does, so two nodes that differ only in blanks have the same text.
func (x *Expression) Source(e ast.Expr) string {
	s, err := cel.ExprToString(e, x.ast.SourceInfo())
	if err != nil {
		return x.text
	}
	return s
}

// Names returns the names that the paths of the expression start with, and the functions that it calls, both in the
// order of the text. It omits names that the expression declares itself, as in list.map(x, …).
func (x *Expression) Names() (roots, functions []Name) {
	n := &nameCollector{Expression: x}
	Walk(x.Root(), nil, n.visit)
	return sortNames(n.roots), sortNames(n.functions)
}

// Env returns the environment that checked the expression.
func (x *Expression) Env() *Env { return x.env }

// Part returns a node as an expression of its own.
func (x *Expression) Part(e ast.Expr) *Expression {
	part := ast.NewCheckedAST(ast.NewAST(e, x.ast.SourceInfo()), x.ast.TypeMap(), x.ast.ReferenceMap())
	return &Expression{env: x.env, text: x.text, ast: part}
}

// Replaced returns a copy of a node in which every node with the same text as old is replaced by another one.
func (x *Expression) Replaced(e, old, by ast.Expr) ast.Expr {
	factory, text := ast.NewExprFactory(), x.Source(old)
	out, ids := factory.CopyExpr(e), map[int64]int64{}
	for n := range All(out) {
		if n.Kind() == old.Kind() && x.Source(n) == text {
			n.SetKindCase(factory.CopyExpr(by))
			ids[n.ID()] = by.ID() // the id finds the node's type and function
		}
	}
	out.RenumberIDs(func(id int64) int64 { return cmp.Or(ids[id], id) })
	return out
}

// Nodes returns all nodes of the expression, outer ones first.
func (x *Expression) Nodes() []ast.Expr { return slices.Collect(All(x.Root())) }

// All iterates over a node and all nodes below it, outer ones first.
func All(e ast.Expr) iter.Seq[ast.Expr] {
	return func(yield func(ast.Expr) bool) {
		goesOn := true
		ast.PreOrderVisit(e, ast.NewExprVisitor(func(e ast.Expr) { goesOn = goesOn && yield(e) }))
	}
}

// Terms returns the parts of an expression that an operator such as && joins.
func Terms(e ast.Expr, operator string) []ast.Expr {
	if e.Kind() != ast.CallKind || e.AsCall().FunctionName() != operator {
		return []ast.Expr{e}
	}
	var terms []ast.Expr
	for _, arg := range e.AsCall().Args() {
		terms = append(terms, Terms(arg, operator)...)
	}
	return terms
}

// Bindings has a value for each name that an expression itself declares.
type Bindings[T any] map[string]T

// With returns a copy of the bindings with more names.
func (b Bindings[T]) With(names map[string]T) Bindings[T] {
	out := make(Bindings[T], len(b)+len(names))
	maps.Copy(out, b)
	maps.Copy(out, names)
	return out
}

// Name is a name in an expression.
type Name struct {
	Name   string
	Offset int // in bytes from the start of the expression
}

func sortNames(n []Name) []Name {
	slices.SortStableFunc(n, func(x, y Name) int { return cmp.Compare(x.Offset, y.Offset) })
	return n
}

// nameCollector collects the names in an expression.
type nameCollector struct {
	*Expression
	roots, functions []Name
}

// visit collects the names in e. bound has the names that the expression declares around it.
func (n *nameCollector) visit(e ast.Expr, bound []string) bool {
	switch e.Kind() {
	case ast.IdentKind:
		if !slices.Contains(bound, e.AsIdent()) {
			n.roots = append(n.roots, Name{Name: e.AsIdent(), Offset: n.Offset(e.ID())})
		}
	case ast.CallKind:
		if call := e.AsCall(); call.IsMemberFunction() && n.isNamespace(e, call.Target()) {
			for _, arg := range call.Args() {
				Walk(arg, bound, n.visit)
			}
			return false
		}
		n.functions = append(n.functions, Name{Name: e.AsCall().FunctionName(), Offset: n.Offset(e.ID())})
	default:
	}
	return true
}

// Walk visits a node and all nodes below it, outer ones first, with the names that the loops around each declare. It
// leaves out what is below a node for which visit returns false.
func Walk(e ast.Expr, bound []string, visit func(e ast.Expr, bound []string) bool) {
	if !visit(e, bound) {
		return
	}
	for _, operand := range Operands(e) {
		Walk(operand, bound, visit)
	}
	if e.Kind() == ast.ComprehensionKind {
		c := e.AsComprehension()
		Walk(c.IterRange(), bound, visit)
		Walk(c.AccuInit(), bound, visit)
		inner := append(slices.Clone(bound), c.AccuVar(), c.IterVar(), c.IterVar2())
		for _, part := range []ast.Expr{c.LoopCondition(), c.LoopStep(), c.Result()} {
			Walk(part, inner, visit)
		}
	}
}

// isNamespace reports whether the target of a call is the first part of the function's name, as in math.abs(x).
func (n *nameCollector) isNamespace(e, target ast.Expr) bool {
	return target.Kind() == ast.IdentKind && n.env.base.HasFunction(target.AsIdent()+"."+e.AsCall().FunctionName())
}

// Operands returns the nodes directly below a node. A comprehension has none; see All and Walk.
func Operands(e ast.Expr) []ast.Expr {
	var below []ast.Expr
	switch e.Kind() {
	case ast.CallKind:
		call := e.AsCall()
		if call.IsMemberFunction() {
			below = append(below, call.Target())
		}
		below = append(below, call.Args()...)
	case ast.SelectKind:
		below = append(below, e.AsSelect().Operand())
	case ast.ListKind:
		below = append(below, e.AsList().Elements()...)
	case ast.MapKind:
		for _, entry := range e.AsMap().Entries() {
			below = append(below, entry.AsMapEntry().Key(), entry.AsMapEntry().Value())
		}
	case ast.StructKind:
		for _, field := range e.AsStruct().Fields() {
			below = append(below, field.AsStructField().Value())
		}
	default:
	}
	return below
}

// TokenStart returns where the token at an offset of CEL begins for people: CEL's offset of a call is that of its
// bracket, and people look for the name of the function.
func TokenStart(text string, offset int) int {
	if offset <= 0 || offset >= len(text) || text[offset] != '(' {
		return offset
	}
	return offset - len(name.FindString(text[:offset]))
}

// name matches a name at the end of a text.
var name = regexp.MustCompile(`[A-Za-z_]\w*$`)

// TokenLength returns the number of bytes of the token that begins at an offset: a word, number, string, field, index
// or operator. Within the quotes of an index or a field, the token goes up to the closing quote.
func TokenLength(text string, offset int) int {
	if offset < 0 || offset >= len(text) {
		return 0
	}
	rest := text[offset:]
	if before := strings.TrimRight(text[:offset], " "); len(before) > 1 && before == text[:offset] {
		if quote := before[len(before)-1:]; strings.ContainsAny(quote, "\"'`") && strings.ContainsAny(before[len(before)-2:len(before)-1], "[?.") {
			if end := strings.Index(rest, quote); end > 0 {
				return end
			}
		}
	}
	if offset > 0 && isOperand.MatchString(text[:offset]) {
		if index := index.FindString(rest); index != "" {
			return len(index)
		}
	}
	return len(token.FindString(rest))
}

var (
	// isOperand matches a text that an index can follow.
	isOperand = regexp.MustCompile("[\\w\\])}`]$")
	// index matches an index without another one in it.
	index = regexp.MustCompile(`^\[[^\[\]]*\]`)
)

// token matches a token of CEL. A field includes the dot before it.
var token = regexp.MustCompile("^(?:" +
	`\.\s*\??\s*(?:[A-Za-z_]\w*|` + "`[^`]*`" + `)|` + // .name, .?name
	`[A-Za-z_]\w*|` + "`[^`]*`|" +
	`[0-9][0-9a-zA-Z]*(?:\.[0-9]+(?:[eE][+-]?[0-9]+)?)?|` +
	`"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|` +
	`==|!=|<=|>=|&&|\|\||.)`)
