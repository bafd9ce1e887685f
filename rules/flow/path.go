package flow

import (
	"regexp"
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"

	"kanon.dev/kanon/rules/celenv"
)

// Path is an expression that reads field after field: parent.spec.?items[0].name. Any expression is a path, perhaps
// without steps.
type Path struct {
	// root is the expression that the first step reads from.
	root ast.Expr
	// Steps are in the order of the text.
	Steps []Step
}

// Step reads a field or an item.
type Step struct {
	// Expr is the path up to and with this step, and operand the path before it.
	Expr, Operand ast.Expr
	// Name is the field. Literal is false if it is computed, by Index.
	Name    string
	Literal bool
	Index   ast.Expr
	// Optional is true for .?name and [?name], and Asks for has(path.name).
	Optional, Asks bool
}

// PathOf splits an expression into its steps.
func PathOf(e ast.Expr) Path {
	var steps []Step
	for {
		step, ok := StepOf(e)
		if !ok {
			slices.Reverse(steps)
			return Path{root: e, Steps: steps}
		}
		steps = append(steps, step)
		e = step.Operand
	}
}

// StepOf is the last step of a path. It is false for an expression without steps.
func StepOf(e ast.Expr) (Step, bool) {
	switch e.Kind() {
	case ast.SelectKind:
		sel := e.AsSelect()
		return Step{Expr: e, Operand: sel.Operand(), Name: sel.FieldName(), Literal: true, Asks: sel.IsTestOnly()}, true
	case ast.CallKind:
		call := e.AsCall()
		if !isStep(call.FunctionName()) {
			return Step{}, false
		}
		step := Step{Expr: e, Operand: call.Args()[0], Index: call.Args()[1], Optional: call.FunctionName() != operators.Index}
		step.Name, step.Literal = LiteralText(call.Args()[1])
		return step, true
	default:
		return Step{}, false
	}
}

// isStep reports whether an operator reads a field or an item of its first operand.
func isStep(operator string) bool {
	return operator == operators.Index || operator == operators.OptIndex || operator == operators.OptSelect
}

// RootName is the name that the path begins with; empty if it begins with another expression.
func (p Path) RootName() string {
	if p.root.Kind() != ast.IdentKind {
		return ""
	}
	return p.root.AsIdent()
}

// Variable is the name of the variable that the path begins with, and the node that reads it. It is empty for any other
// path.
func (p Path) Variable() (string, ast.Expr) {
	if len(p.Steps) == 0 || p.RootName() != RootVariables || p.Steps[0].Optional || p.Steps[0].Asks {
		return "", nil
	}
	return p.Steps[0].Name, p.Steps[0].Expr
}

// WholeVariable is the variable of which an expression consists; empty for any other expression.
func WholeVariable(e ast.Expr) string {
	p := PathOf(e)
	if len(p.Steps) != 1 {
		return ""
	}
	name, _ := p.Variable()
	return name
}

// Nodes are the ids of the steps, the last one first.
func (p Path) Nodes() []int64 {
	var ids []int64
	for _, step := range slices.Backward(p.Steps) {
		ids = append(ids, step.Expr.ID())
	}
	return ids
}

// anyKey replaces a computed key or index in a list of names.
const anyKey = "*"

// Names lists the root and the fields of a path. It ends with anyKey at the first computed key.
func (p Path) Names() []string {
	out := []string{p.RootName()}
	for _, step := range p.Steps {
		if !step.Literal {
			return append(out, anyKey)
		}
		out = append(out, step.Name)
	}
	return out
}

// GeneratedPath is the field of the child's own observed object that the expression reads with a default:
// observed.<id>.?data.?password.orValue(…). It is nil for any other expression.
func GeneratedPath(e ast.Expr, id string) []string {
	if e.Kind() != ast.CallKind || e.AsCall().FunctionName() != "orValue" || !e.AsCall().IsMemberFunction() {
		return nil
	}
	p := PathOf(e.AsCall().Target())
	if len(p.Steps) < 2 || !isObserved(p.Steps[0].Expr, id) || !p.Steps[1].Optional {
		return nil // without ?, the expression waits for an object that is never created
	}
	var path []string
	for _, step := range p.Steps[1:] {
		if !step.Literal || step.Asks {
			return nil
		}
		path = append(path, step.Name)
	}
	return path
}

// isObserved reports whether an expression is observed.<id>.
func isObserved(e ast.Expr, id string) bool {
	if e.Kind() != ast.SelectKind || e.AsSelect().IsTestOnly() || e.AsSelect().FieldName() != id {
		return false
	}
	root := e.AsSelect().Operand()
	return root.Kind() == ast.IdentKind && root.AsIdent() == RootObserved
}

// LiteralText is the value of a literal string.
func LiteralText(e ast.Expr) (string, bool) {
	if e.Kind() != ast.LiteralKind {
		return "", false
	}
	s, ok := e.AsLiteral().(types.String)
	return string(s), ok
}

// IsNullLiteral reports whether an expression is null.
func IsNullLiteral(e ast.Expr) bool {
	return e.Kind() == ast.LiteralKind && e.AsLiteral() == types.NullValue
}

// Extent is where a node is written in its expression. CEL knows only one position of a node, that of its operator, so
// the extent is known only for paths, literals and the expression as a whole.
func Extent(x *celenv.Expression, e ast.Expr) (offset int, text string, ok bool) {
	all := x.Text()
	switch p := PathOf(e); {
	case p.RootName() != "" && !asks(p):
		if offset = x.Offset(p.root.ID()); offset < 0 || !strings.HasPrefix(all[offset:], p.RootName()) {
			break
		}
		end := offset + len(p.RootName())
		for range p.Steps {
			length := stepLength(all[end:])
			if length == 0 {
				return 0, "", false
			}
			end += length
		}
		return offset, all[offset:end], true
	case e.Kind() == ast.LiteralKind:
		if offset = x.Offset(e.ID()); offset < 0 {
			break
		}
		if length := len(literal.FindString(all[offset:])); length > 0 {
			return offset, all[offset : offset+length], true
		}
	}
	if e.ID() != x.Root().ID() {
		return 0, "", false
	}
	text = strings.TrimSpace(all)
	return strings.Index(all, text), text, text != ""
}

func asks(p Path) bool { return len(p.Steps) > 0 && p.Steps[len(p.Steps)-1].Asks }

var (
	// step is a field, or an index that is a literal or a name.
	step = regexp.MustCompile("^\\s*(?:\\.\\s*\\??\\s*(?:[A-Za-z_]\\w*|`[^`]*`)|\\[\\s*\\??\\s*(?:\"[^\"\\\\]*\"|'[^'\\\\]*'|-?\\w+)\\s*\\])")
	// literal is a number, a truth value, null, or text without escapes.
	literal = regexp.MustCompile(`^(?:"[^"\\]*"|'[^'\\]*'|-?[0-9][0-9a-zA-Z.]*|true\b|false\b|null\b)`)
)

func stepLength(text string) int { return len(step.FindString(text)) }

// AlwaysReads reports whether an expression has no value without a field of observed.<id>. It is false for a part that
// may not be evaluated.
func AlwaysReads(e ast.Expr, id string) bool {
	switch e.Kind() {
	case ast.SelectKind:
		if e.AsSelect().IsTestOnly() {
			return false
		}
		return isObserved(e.AsSelect().Operand(), id) || AlwaysReads(e.AsSelect().Operand(), id)
	case ast.CallKind:
		if e.AsCall().FunctionName() == operators.Index && isObserved(e.AsCall().Args()[0], id) {
			return true
		}
		return anyAlwaysReads(evaluated(e.AsCall()), id)
	case ast.ListKind:
		return anyAlwaysReads(e.AsList().Elements(), id)
	case ast.ComprehensionKind:
		return AlwaysReads(e.AsComprehension().IterRange(), id)
	default:
		return false
	}
}

func anyAlwaysReads(all []ast.Expr, id string) bool {
	return slices.ContainsFunc(all, func(e ast.Expr) bool { return AlwaysReads(e, id) })
}

// evaluated lists the operands that a call always needs.
func evaluated(call ast.CallExpr) []ast.Expr {
	switch name := call.FunctionName(); {
	case name == operators.Conditional, isStep(name):
		return call.Args()[:1]
	case name == operators.LogicalAnd, name == operators.LogicalOr:
		return nil // one side can do without the other
	case call.IsMemberFunction() && (name == "orValue" || name == "or"):
		return []ast.Expr{call.Target()}
	case call.IsMemberFunction():
		return append([]ast.Expr{call.Target()}, call.Args()...)
	default:
		return call.Args()
	}
}
