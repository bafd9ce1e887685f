package syntax

import (
	"slices"

	"kanon.dev/kanon/rules/language"
	"kanon.dev/kanon/rules/yamltree"
)

// Finalize is spec.finalize. Its children are in Rule.Children.
type Finalize struct {
	// Until is nil if it is missing or has a mistake.
	Until   *yamltree.Node
	Timeout *Duration
}

func (d *decoder) finalize(n *yamltree.Node, r *Rule) {
	spec := &Finalize{}
	r.Finalize = spec
	d.object(n, "spec.finalize", language.Finalize(), decoders{
		"children": func(n *yamltree.Node) {
			r.OpenChildren = r.OpenChildren || n.Kind != yamltree.Sequence || len(n.Lost) > 0
			for i, item := range d.list(n, "spec.finalize.children") {
				r.addCleanup(d.child(item, "spec.finalize.children", i, r.Children))
			}
		},
		"until":   func(n *yamltree.Node) { spec.Until = d.expression(n, "spec.finalize.until") },
		"timeout": func(n *yamltree.Node) { spec.Timeout = d.duration(n, "finalize.timeout", minTimeout) },
	})
	r.OpenChildren = r.OpenChildren || slices.Contains(n.Lost, "children")
}

func (r *Rule) addCleanup(c Child) {
	c.Cleanup = true
	r.OpenChildren = r.OpenChildren || c.ID == ""
	r.Children = append(r.Children, c)
}
