package reconcile

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine/operator"
	"kanon.dev/kanon/engine/outcome"
	"kanon.dev/kanon/engine/queue"
	"kanon.dev/kanon/engine/request"
)

// skipSuspended leaves a suspended parent alone. What is remembered of it stays, so that nothing is reported twice when
// it resumes; but it resumes at once, whatever minInterval says. For a parent that the informer does not show, no event
// follows, so it is read again with growing pauses.
func (r *Reconciler) skipSuspended(op *operator.Operator, k queue.Key, parent *unstructured.Unstructured) outcome.Verdict {
	remembered := r.Parents.Memory(k, parent.GetUID(), op.Program.Hash)
	remembered.Schedule.Interval = 0
	r.Parents.Keep(k, remembered)
	if !op.InView(parent) {
		return outcome.Again
	}
	return outcome.Settled
}

// isSuspended reports whether the parent was suspended since the pass began, as the informer shows it. If somebody
// suspends a parent and then changes what its rule reads, nothing must be deleted.
func (c *changes) isSuspended() bool {
	now, ok := c.Monitors.Head(c.op.ParentKey, c.key.Parent.Namespace, c.key.Parent.Name)
	return ok && now.GetUID() == c.parent.GetUID() && request.IsSuspended(now)
}
