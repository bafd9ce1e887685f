package rules

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

// truth is what a condition is, whatever it reads; ok is false where that is not
// plain to see.
func truth(x *celenv.Expression, e ast.Expr) (holds, ok bool) {
	switch e.Kind() {
	case ast.LiteralKind:
		b, isBool := e.AsLiteral().(types.Bool)
		return bool(b), isBool
	case ast.CallKind:
	default:
		return false, false
	}
	args := e.AsCall().Args()
	switch e.AsCall().FunctionName() {
	case operators.LogicalNot:
		holds, ok = truth(x, args[0])
		return !holds, ok
	case operators.LogicalAnd, operators.LogicalOr:
		left, leftKnown := truth(x, args[0])
		right, rightKnown := truth(x, args[1])
		decides := e.AsCall().FunctionName() == operators.LogicalOr
		if leftKnown && left == decides || rightKnown && right == decides {
			return decides, true
		}
		return !decides, leftKnown && rightKnown
	case operators.Conditional:
		yes, yesKnown := truth(x, args[1])
		no, noKnown := truth(x, args[2])
		return yes, yesKnown && noKnown && yes == no
	}
	val, ok := run.Constant(x, e)
	b, isBool := val.(types.Bool)
	return bool(b), ok && isBool
}

// isLiteralTrue says whether an expression is the word true and nothing else.
func isLiteralTrue(e ast.Expr) bool {
	return e.Kind() == ast.LiteralKind && e.AsLiteral() == types.True
}

// checkTerms reports terms of && that exclude each other, x == "a" && x == "b",
// and terms of || of which one always holds, x != "a" || x != "b".
func (t *typing) checkTerms(e ast.Expr) {
	joined, compares, outcome := operators.LogicalAnd, operators.Equals, false
	if e.AsCall().FunctionName() == operators.LogicalOr {
		joined, compares, outcome = operators.LogicalOr, operators.NotEquals, true
	}
	first := map[string]ref.Val{}
	for _, term := range terms(joined, e, nil) {
		path, value, ok := t.compared(term, compares)
		if !ok {
			continue
		}
		if old, twice := first[path]; twice && types.Equal(old, value) != types.True {
			t.report(term.ID(), diagnostic.CodeNeverEqual, "%s is compared with %s before, so all this is always %t", path, literalWords(old), outcome).
				Hint = map[bool]string{false: "write || for or", true: "write && for and"}[outcome]
			return
		}
		first[path] = value
	}
}

// compared takes a comparison of a path with a literal apart.
func (t *typing) compared(e ast.Expr, operator string) (path string, value ref.Val, ok bool) {
	if e.Kind() != ast.CallKind || e.AsCall().FunctionName() != operator {
		return "", nil, false
	}
	args := e.AsCall().Args()
	for i, literal := range args {
		if path := t.path(args[1-i]); path != "" && literal.Kind() == ast.LiteralKind {
			return path, literal.AsLiteral(), true
		}
	}
	return "", nil, false
}

// checkParentKind reports a comparison of the parent's kind or apiVersion with
// another one than that of spec.parent, and says whether it did.
func (t *typing) checkParentKind(literal, field ast.Expr) bool {
	text, ok := flow.LiteralText(literal)
	gvk := t.c.rule.Parent.GVK
	if !ok || gvk.Kind == "" {
		return false
	}
	is := ""
	switch t.path(field) {
	case flow.RootParent + ".kind":
		is = gvk.Kind
	case flow.RootParent + ".apiVersion":
		is = gvk.GroupVersion().String()
	}
	if is == "" || is == text {
		return false
	}
	t.report(literal.ID(), diagnostic.CodeNeverEqual, "%s is never %s: the rule is for %s", t.path(field), strconv.Quote(text), strconv.Quote(is))
	return true
}
