package engine

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine/identity"
)

// outdatedIn is Outdated for an object that does not say by itself with what content
// it was applied. Whether it is not valid is found when its turn has come.
func (p *pass) outdatedIn(ctx context.Context) func(node string, rendered, live *unstructured.Unstructured) bool {
	return func(node string, rendered, live *unstructured.Unstructured) bool {
		object := rendered.DeepCopy()
		p.carryRecreation(object, live)
		w := &write{node: node, object: object}
		if p.op.refers(p.parent, object) {
			w.controller = p.op.controllerRef(p.parent)
		}
		child, err := p.writer.Prepare(ctx, object, p.op.owner(p.parent, node), w.controller, p.policyOf(node, rendered))
		return err != nil || child.Outdated(live)
	}
}

// isDeleting tells whether an object that a node created, and no longer renders, is being deleted.
func (p *pass) isDeleting(node string) bool {
	children := p.childHeads(p.op, p.op.nodes[node].GVR, p.key)
	return slices.ContainsFunc(children, func(obj *unstructured.Unstructured) bool {
		return obj.GetDeletionTimestamp() != nil && !p.desired[identity.Of(obj)] && p.reader.madeBy(obj, node)
	})
}
