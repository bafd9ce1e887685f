package rules

import (
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/syntax"
	"kanon.dev/kanon/rules/yamltree"
)

// A child whose template cannot be rendered without a field of its own observed object is never
// created, because the field comes with the object: it waits for itself.

// checkSelfWait reports the expressions of a template that always read a field of the child's own
// observed object. A child that may exist without the rule having created it is not asked.
func (c *compiler) checkSelfWait(spec *syntax.Child) {
	if spec.ID == "" || spec.Many() || spec.Adopt || spec.When != nil || spec.CreateWhen != nil {
		return
	}
	var walk func(n *yamltree.Node)
	walk = func(n *yamltree.Node) {
		for _, f := range n.Fields {
			walk(f.Value)
		}
		for _, item := range n.Items {
			walk(item)
		}
		if x := c.results[n].x; x != nil && alwaysReads(x.expr.Root(), spec.ID) {
			c.report(c.rule.Source.At(n), diagnostic.CodeSelfReference, "%s cannot be created: this waits for a field of observed.%s, which comes with the object", spec.ID, spec.ID).
				WithHint("begin with a ?, as in observed.%s.?…, and say what there is without the object, by orValue(…) or optMap(…)", spec.ID)
		}
	}
	if spec.Template != nil {
		walk(spec.Template)
	}
}

// alwaysReads reports whether the value of an expression needs a field of observed.<id>, whatever
// else there is. Of what may not be evaluated, or not count, it says no.
func alwaysReads(e ast.Expr, id string) bool {
	switch e.Kind() {
	case ast.SelectKind:
		if e.AsSelect().IsTestOnly() {
			return false
		}
		return isObserved(e.AsSelect().Operand(), id) || alwaysReads(e.AsSelect().Operand(), id)
	case ast.CallKind:
		if e.AsCall().FunctionName() == operators.Index && isObserved(e.AsCall().Args()[0], id) {
			return true
		}
		return anyAlwaysReads(evaluated(e.AsCall()), id)
	case ast.ListKind:
		return anyAlwaysReads(e.AsList().Elements(), id)
	case ast.ComprehensionKind:
		return alwaysReads(e.AsComprehension().IterRange(), id)
	default:
		return false
	}
}

func anyAlwaysReads(all []ast.Expr, id string) bool {
	for _, e := range all {
		if alwaysReads(e, id) {
			return true
		}
	}
	return false
}

// evaluated are those operands of a call of which the call needs the value in any case.
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
