package check

import (
	"strconv"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"kanon.dev/kanon/rules/celenv"
	"kanon.dev/kanon/rules/celenv/run"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/flow"
)

// Truth reports whether a condition is always true or always false, whatever it reads. known is false if neither is
// certain.
func (x *Expression) Truth() (isTrue, known bool) { return truth(x.expr, x.expr.Root()) }

func truth(x *celenv.Expression, e ast.Expr) (isTrue, known bool) {
	if e.Kind() == ast.CallKind {
		args := e.AsCall().Args()
		switch function := e.AsCall().FunctionName(); function {
		case operators.LogicalNot:
			isTrue, known = truth(x, args[0])
			return !isTrue, known
		case operators.LogicalAnd, operators.LogicalOr:
			left, leftKnown := truth(x, args[0])
			right, rightKnown := truth(x, args[1])
			decides := function == operators.LogicalOr
			if leftKnown && left == decides || rightKnown && right == decides {
				return decides, true
			}
			return !decides, leftKnown && rightKnown
		case operators.Conditional:
			yes, yesKnown := truth(x, args[1])
			no, noKnown := truth(x, args[2])
			return yes, yesKnown && noKnown && yes == no
		}
	} else if e.Kind() != ast.LiteralKind {
		return false, false
	}
	val, known := run.Constant(x, e)
	b, isBool := val.(types.Bool)
	return bool(b), known && isBool
}

// checkTerms reports terms of && that exclude each other, as in x == "a" && x == "b", and terms of || of which one is
// always true, as in x != "a" || x != "b".
func (c *checker) checkTerms(e ast.Expr, operator string) {
	for _, arg := range e.AsCall().Args() {
		if arg.Kind() == ast.CallKind && arg.AsCall().FunctionName() == operator {
			c.joined[arg.ID()] = true // checked with e
		}
	}
	if c.joined[e.ID()] {
		return
	}
	compares, outcome, hint := operators.Equals, false, "write || for or"
	if operator == operators.LogicalOr {
		compares, outcome, hint = operators.NotEquals, true, "write && for and"
	}
	first, places := map[string]ref.Val{}, map[string]diagnostic.Position{}
	for _, term := range celenv.Terms(e, operator) {
		path, value, ok := c.compared(term, compares)
		if !ok {
			continue
		}
		if old, twice := first[path]; twice && types.Equal(old, value) != types.True {
			f := c.report(term, diagnostic.CodeNeverEqual, "%s is compared with %s before, so all this is always %t", path, literalWords(old), outcome)
			f.WithRelated(places[path], "the comparison before").Hint = hint
			return
		}
		first[path], places[path] = value, c.At(c.Expr.Offset(term.ID()))
	}
}

// compared returns the path and the literal of a comparison between the two.
func (c *checker) compared(e ast.Expr, operator string) (path string, value ref.Val, ok bool) {
	if e.Kind() != ast.CallKind || e.AsCall().FunctionName() != operator {
		return "", nil, false
	}
	args := e.AsCall().Args()
	for i, literal := range args {
		if path := c.path(args[1-i]); path != "" && literal.Kind() == ast.LiteralKind {
			return path, literal.AsLiteral(), true
		}
	}
	return "", nil, false
}

// checkParentKind reports a comparison of the parent's kind or apiVersion with another value than that of spec.parent.
func (c *checker) checkParentKind(literal, field ast.Expr) (reported bool) {
	text, ok := flow.LiteralText(literal)
	gvk := c.Parent.GVK
	is := map[string]string{flow.RootParent + ".kind": gvk.Kind, flow.RootParent + ".apiVersion": gvk.GroupVersion().String()}[c.path(field)]
	if !ok || gvk.Kind == "" || is == "" || is == text {
		return false
	}
	c.report(literal, diagnostic.CodeNeverEqual, "%s is never %s: the rule is for %s", c.path(field), strconv.Quote(text), strconv.Quote(is))
	return true
}
