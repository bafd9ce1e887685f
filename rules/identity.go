package rules

import (
	"slices"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/syntax"
	"kanon.dev/kanon/rules/yamltree"
)

// isMisspelt says whether a mapping has a field whose name is nearly the one that
// is missing, so that the finding about that field says enough.
func (c *compiler) isMisspelt(n *yamltree.Node, name string, gvk schema.GroupVersionKind) bool {
	return c.schemaOf(gvk) != nil && slices.ContainsFunc(n.Fields, func(f yamltree.Field) bool {
		_, near := diagnostic.Nearest(f.Name, []string{name})
		return near && !syntax.HasExpression(f.Name)
	})
}

// checkItemNames reports a forEach whose items would all be the same object. It
// comes after the template was compiled.
func (c *compiler) checkItemNames(spec *syntax.Child) {
	root := spec
	single := c.atMostOneItem(spec)
	if f := c.families[spec.ID]; f != nil && spec.Many() {
		root, single = f.root, f.single
	}
	if len(root.ForEach) == 0 || root.Gaps["forEach"] || single {
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
		case syntax.HasExpression(text):
			if r, compiled := c.results[n]; !compiled || r.items {
				return
			}
		}
	}
	if name == nil {
		return
	}
	c.report(c.rule.Source.At(name), diagnostic.CodeSameItem, "every item of %s is the same object: its name does not depend on %s",
		spec.Label(), root.ForEach[0].Name).WithHint("make the name different for each item")
}

// atMostOneItem says whether it can be seen that forEach gives one item at most,
// as in [x] and in cond ? [x] : [].
func (c *compiler) atMostOneItem(spec *syntax.Child) bool {
	return !slices.ContainsFunc(spec.ForEach, func(f syntax.Dimension) bool {
		switch {
		case f.In == nil:
			return false
		case f.In.Kind == yamltree.Mapping:
			return len(f.In.Fields) > 1
		case f.In.Kind == yamltree.Sequence:
			return len(f.In.Items) > 1 || len(f.In.Items) == 1 && syntax.IsSpread(f.In.Items[0])
		}
		r, ok := c.results[f.In]
		return ok && r.x != nil && !atMostOne(r.x.expr.Root())
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
