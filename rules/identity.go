package rules

import (
	"slices"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/yamltree"
)

// isMisspelt says whether a mapping has a field whose name is nearly the one that
// is missing, so that the finding about that field says enough.
func (c *compiler) isMisspelt(n *yamltree.Node, name string, gvk schema.GroupVersionKind) bool {
	return c.schemaOf(gvk) != nil && slices.ContainsFunc(n.Fields, func(f yamltree.Field) bool {
		_, near := diagnostic.Nearest(f.Name, []string{name})
		return near && !hasExpression(f.Name)
	})
}

// checkItemNames reports a forEach whose items would all be the same object. It
// comes after the template was compiled.
func (c *compiler) checkItemNames(spec *childSpec) {
	root := spec
	single := c.atMostOneItem(spec)
	if f := c.families[spec.id]; f != nil && spec.many() {
		root, single = f.root, f.single
	}
	if len(root.forEach) == 0 || root.gaps["forEach"] || single {
		return
	}
	metadata := spec.template.Get("metadata")
	name := metadata.Get("name")
	for _, n := range []*yamltree.Node{name, metadata.Get("namespace")} {
		text, ok := n.Text()
		switch {
		case n == nil:
		case !ok:
			return // the reason was reported
		case hasExpression(text):
			if r, compiled := c.results[n]; !compiled || r.items {
				return
			}
		}
	}
	if name == nil {
		return
	}
	c.report(c.rule.src.At(name), diagnostic.CodeSameItem, "every item of %s is the same object: its name does not depend on %s",
		spec.label(), root.forEach[0].name).WithHint("let the name tell the items apart")
}

// atMostOneItem says whether it can be seen that forEach gives one item at most,
// as in [x] and in cond ? [x] : [].
func (c *compiler) atMostOneItem(spec *childSpec) bool {
	return !slices.ContainsFunc(spec.forEach, func(f forEachSpec) bool {
		switch {
		case f.in == nil:
			return false
		case f.in.Kind == yamltree.Mapping:
			return len(f.in.Fields) > 1
		case f.in.Kind == yamltree.Sequence:
			return len(f.in.Items) > 1 || len(f.in.Items) == 1 && isSpread(f.in.Items[0])
		}
		r, ok := c.results[f.in]
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

// isSpread says whether an item of a list stands for several.
func isSpread(n *yamltree.Node) bool {
	text, _ := n.Text()
	parts, err := scan(text)
	if err != nil {
		return false
	}
	whole, ok := wholeExpression(parts)
	return ok && whole.spread
}
