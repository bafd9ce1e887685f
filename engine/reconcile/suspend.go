package reconcile

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine/operator"
	"kanon.dev/kanon/engine/outcome"
	"kanon.dev/kanon/engine/queue"
	"kanon.dev/kanon/engine/request"
)

// skipSuspended leaves a suspended parent alone. All that is remembered of it stays, so that nothing is reported twice when it
// goes on; but it goes on at once, whatever minInterval says. No event comes for a parent that the informer does not show, so
// that one is read, with growing pauses.
func (r *Reconciler) skipSuspended(op *operator.Operator, k queue.Key, parent *unstructured.Unstructured) outcome.Verdict {
	remembered := r.Parents.Memory(k, parent.GetUID(), op.Program.Hash)
	remembered.Schedule.Interval = 0
	r.Parents.Keep(k, remembered)
	if !op.InView(parent) {
		return outcome.Again
	}
	return outcome.Settled
}

// isSuspended tells whether the parent was suspended since the pass began, as far as memory knows: who suspends a parent first
// and then changes what its rule reads is not to see anything deleted.
func (c *changes) isSuspended() bool {
	now, ok := c.Monitors.Head(c.op.ParentKey, c.key.Parent.Namespace, c.key.Parent.Name)
	return ok && now.GetUID() == c.parent.GetUID() && request.IsSuspended(now)
}
