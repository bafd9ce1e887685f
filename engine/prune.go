package engine

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/engine/queue"
)

// riskOf is atRisk of a parent that is not evaluated.
func (e *Engine) riskOf(op *operator, k queue.Key, parent *unstructured.Unstructured) []identity.ID {
	refs := e.cluster.childrenOf(op, k)
	if op.Program.DeletesParents() {
		refs = append(refs, identity.Of(parent))
	}
	return refs
}
