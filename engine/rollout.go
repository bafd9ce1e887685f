package engine

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine/identity"
)

// outdatedIn is Outdated for an object that does not say by itself with what content
// it was applied. Whether it is not valid is found when its turn has come.
func (c *childWriter) outdatedIn(ctx context.Context) func(node string, rendered, live *unstructured.Unstructured) bool {
	return func(node string, rendered, live *unstructured.Unstructured) bool {
		object := rendered.DeepCopy()
		c.carryRecreation(object, live)
		w := &write{node: node, object: object}
		if c.op.refers(c.parent, object) {
			w.controller = c.op.controllerRef(c.parent)
		}
		child, err := c.writer.Prepare(ctx, object, c.op.owner(c.parent, node), w.controller, c.policyOf(node, rendered))
		return err != nil || child.Outdated(live)
	}
}

// isDeleting tells whether an object that a node created, and no longer renders, is being deleted.
func (p *pass) isDeleting(node string) bool {
	children := p.childHeads(p.op, p.op.nodes[node].GVR, p.key)
	return slices.ContainsFunc(children, func(obj *unstructured.Unstructured) bool {
		return obj.GetDeletionTimestamp() != nil && !p.rendered[identity.Of(obj)] && p.reader.madeBy(obj, node)
	})
}
