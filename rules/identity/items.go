package identity

import (
	"slices"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"

	"kanon.dev/kanon/rules/celenv"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/reporting"
	"kanon.dev/kanon/rules/scanner"
	"kanon.dev/kanon/rules/syntax"
	"kanon.dev/kanon/rules/yamltree"
)

// CheckItems reports a forEach whose items would all be the same object. root is the child that has the forEach.
// readsItem reports whether an expression reads an item, or has a mistake.
func CheckItems(r *reporting.Reporter, spec, root *syntax.Child, readsItem func(n *yamltree.Node) bool) {
	if len(root.ForEach) == 0 || root.Gaps["forEach"] {
		return
	}
	metadata := spec.Template.Get("metadata")
	name := metadata.Get("name")
	for _, n := range []*yamltree.Node{name, metadata.Get("namespace")} {
		text, ok := n.Text()
		switch {
		case n == nil:
		case !ok:
			return // the reason was reported
		case scanner.HasExpression(text) && readsItem(n):
			return
		}
	}
	if name == nil {
		return
	}
	f := r.ReportNode(name, diagnostic.CodeSameItem, "every item of %s is the same object: its name does not depend on %s", spec.Label(), root.ForEach[0].Name)
	r.Relate(f, root.ForEach[0].In, "the items are here").WithHint("make the name different for each item")
}

// AtMostOneItem reports whether forEach certainly has at most one item, as in [x] and in cond ? [x] : []. parsed
// returns the expression of a scalar.
func AtMostOneItem(spec *syntax.Child, parsed func(n *yamltree.Node) *celenv.Expression) bool {
	return !slices.ContainsFunc(spec.ForEach, func(f syntax.Dimension) bool {
		switch {
		case f.In == nil:
			return false
		case f.In.Kind == yamltree.Mapping:
			return len(f.In.Fields) > 1
		case f.In.Kind == yamltree.Sequence:
			return len(f.In.Items) > 1 || len(f.In.Items) == 1 && scanner.IsSpread(f.In.Items[0])
		}
		x := parsed(f.In)
		return x != nil && !atMostOne(x.Root())
	})
}

func atMostOne(e ast.Expr) bool {
	switch e.Kind() {
	case ast.ListKind:
		return e.AsList().Size() <= 1
	case ast.CallKind:
		if call := e.AsCall(); call.FunctionName() == operators.Conditional {
			return atMostOne(call.Args()[1]) && atMostOne(call.Args()[2])
		}
	default:
	}
	return false
}
