package reconcile

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/feedback"
	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/engine/monitor"
	"kanon.dev/kanon/engine/operator"
	"kanon.dev/kanon/engine/outcome"
	"kanon.dev/kanon/engine/parents"
	"kanon.dev/kanon/engine/queue"
	"kanon.dev/kanon/rules/program"
)

// subject is what one reconcile is about: a parent and a rule. All phases of the reconcile share it.
type subject struct {
	op  *operator.Operator
	key queue.Key
	// parent is the state in the last answer to a write.
	parent *unstructured.Unstructured
	// memory is kept for the next reconcile. It is nil if the rule turns out not to select the parent.
	memory *parents.Memory
	// provenance is the chain of rules' writes that led to the reconcile.
	provenance *feedback.Provenance
	// started is when the reconcile began, and seen is the time that the evaluation sees. due is true if the passing of
	// time is a reason for the reconcile.
	started, seen time.Time
	due           bool
	evaluation    *program.Evaluation
	// outcome is the result of the evaluation, once it has ended.
	result program.Result
	// finalizing is true while spec.finalize is evaluated for a parent that is being deleted.
	finalizing bool
	// rendered is the set of children that the rule has rendered so far.
	rendered map[identity.ID]bool
	// namespaceEnds is true if a write showed that the parent's namespace is being deleted.
	namespaceEnds bool
	// next holds the time after which the parent has to be reconciled again.
	next outcome.Outcome
}

func newSubject(op *operator.Operator, k queue.Key, parent *unstructured.Unstructured, memory *parents.Memory, now time.Time) *subject {
	return &subject{
		op: op, key: k, parent: parent, memory: memory, provenance: &feedback.Provenance{},
		started: now, seen: memory.Schedule.EvaluationTime(now, op.Program.Drifts), due: memory.Schedule.IsDue(now),
		rendered: make(map[identity.ID]bool),
	}
}

// RequeueAfter asks for another reconcile of the parent after d at the latest. Only the goroutine of the reconcile
// calls it.
func (s *subject) RequeueAfter(d time.Duration) { s.next.RequeueAfter(d) }

// policyOf returns how to write an object that a node rendered in this reconcile.
func (s *subject) policyOf(node string, object *unstructured.Unstructured) fieldset.Policy {
	policy := s.op.Policies[node]
	if now := s.evaluation.Ignores(object); len(now) > 0 {
		policy.Ignore, policy.Relinquished = slices.Concat(policy.Ignore, now), now
	}
	return policy
}

// changes is how a reconcile writes. It reports each write to package feedback, so that it is known which reconcile
// caused which change, and each answer to the informers, so that no later reconcile sees an older version.
type changes struct {
	*subject
	*Cluster

	feedback *feedback.Tracker
}

// Begin reports that the reconcile is about to write an object. Call end after the write.
func (c *changes) Begin(obj *unstructured.Unstructured) (end func()) {
	return c.feedback.BeginWrite(c.key, identity.Of(obj), mark.RefOf(obj).String(), c.provenance, len(c.rendered))
}

// Observe reports the answer of a write, after Begin: as the newest state of the object, and as the cause of what
// follows.
func (c *changes) Observe(informer monitor.Key, obj *unstructured.Unstructured) {
	if informer == c.op.ParentKey || c.op.ReadsObserved.Load() || c.Running.IsRead(informer.GVR) || c.provenance.IsLong(c.key) {
		c.feedback.Wrote(c.key, c.provenance, obj, feedback.VersionOf(obj))
	}
	c.Monitors.Observe(informer, obj)
}

// deleted reports that the reconcile deleted an object, after Begin.
func (c *changes) deleted(obj *unstructured.Unstructured) {
	c.feedback.Wrote(c.key, c.provenance, obj, feedback.Version{UID: obj.GetUID()})
}
