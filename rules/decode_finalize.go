package rules

import (
	"slices"
	"time"
)

// finalizeSpec is spec.finalize; its children are among those of the rule.
type finalizeSpec struct {
	// until is nil where it was left out or could not be read.
	until   *node
	timeout *durationSpec
	gaps    gaps
}

// minTimeout is the shortest time that finalizing may take.
const minTimeout = time.Second

func (d *decoder) finalize(n *node, r *Rule) {
	spec := &finalizeSpec{}
	r.finalize = spec
	spec.gaps = d.object(n, "spec.finalize", fields{
		"children": func(n *node) {
			r.openChildren = r.openChildren || n.kind != sequenceNode || len(n.lost) > 0
			for i, item := range d.list(n, "spec.finalize.children") {
				r.addCleanup(d.child(item, "spec.finalize.children", i, r.children))
			}
		},
		"until":   func(n *node) { spec.until = d.expression(n, "spec.finalize.until") },
		"timeout": func(n *node) { spec.timeout = d.duration(n, "finalize.timeout", minTimeout) },
	})
	r.openChildren = r.openChildren || slices.Contains(n.lost, "children")
}

func (r *Rule) addCleanup(c childSpec) {
	c.cleanup = true
	r.openChildren = r.openChildren || c.id == ""
	r.children = append(r.children, c)
}
