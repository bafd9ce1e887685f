package rules

import (
	"slices"
	"time"

	"kanon.dev/kanon/rules/yamltree"
)

// finalizeSpec is spec.finalize; its children are among those of the rule.
type finalizeSpec struct {
	// until is nil where it was left out or could not be read.
	until   *yamltree.Node
	timeout *durationSpec
	gaps    gaps
}

// minTimeout is the shortest time that finalizing may take.
const minTimeout = time.Second

func (d *decoder) finalize(n *yamltree.Node, r *Rule) {
	spec := &finalizeSpec{}
	r.finalize = spec
	spec.gaps = d.object(n, "spec.finalize", fields{
		"children": func(n *yamltree.Node) {
			r.openChildren = r.openChildren || n.Kind != yamltree.Sequence || len(n.Lost) > 0
			for i, item := range d.list(n, "spec.finalize.children") {
				r.addCleanup(d.child(item, "spec.finalize.children", i, r.children))
			}
		},
		"until":   func(n *yamltree.Node) { spec.until = d.expression(n, "spec.finalize.until") },
		"timeout": func(n *yamltree.Node) { spec.timeout = d.duration(n, "finalize.timeout", minTimeout) },
	})
	r.openChildren = r.openChildren || slices.Contains(n.Lost, "children")
}

func (r *Rule) addCleanup(c childSpec) {
	c.cleanup = true
	r.openChildren = r.openChildren || c.id == ""
	r.children = append(r.children, c)
}
