package engine

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// outdatedIn is Outdated for an object that does not say by itself with what content
// it was applied. Whether it is not valid is found when its turn has come.
func (c *childWriter) outdatedIn(ctx context.Context) func(node string, rendered, live *unstructured.Unstructured) bool {
	return func(node string, rendered, live *unstructured.Unstructured) bool {
		object := rendered.DeepCopy()
		c.carryRecreation(object, live)
		w := &write{node: node, object: object}
		if c.op.CanOwn(c.parent, object) {
			w.controller = c.op.ControllerRef(c.parent)
		}
		child, err := c.writer.Prepare(ctx, object, c.op.Owner(c.parent, node), w.controller, c.policyOf(node, rendered))
		return err != nil || child.Outdated(live)
	}
}
