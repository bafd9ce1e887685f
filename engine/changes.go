package engine

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/feedback"
	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/engine/monitor"
)

// changes is how a reconcile writes: each write is reported to package feedback, so that it is known which reconcile caused
// which change, and each answer to the informers, so that no later reconcile sees an older version.
type changes struct {
	*subject
	*cluster

	feedback *feedback.Tracker
	// isRead tells whether parents of any rule depend on objects of a resource.
	isRead func(schema.GroupVersionResource) bool
}

// begin takes in that the reconcile is writing an object; the function that it returns, that this is over.
func (c *changes) begin(obj *unstructured.Unstructured) (end func()) {
	return c.feedback.BeginWrite(c.key, identity.Of(obj), mark.RefOf(obj).String(), c.provenance, len(c.rendered))
}

// observe takes in the answer of a write, before which begin was called: as the newest knowledge of the object, and as a cause of
// what follows.
func (c *changes) observe(informer monitor.Key, obj *unstructured.Unstructured) {
	if informer == c.op.ParentKey || c.op.ReadsObserved.Load() || c.isRead(informer.GVR) || c.provenance.IsLong(c.key) {
		c.feedback.Wrote(c.key, c.provenance, obj, feedback.VersionOf(obj))
	}
	c.monitors.Observe(informer, obj)
}

// deleted takes in that the reconcile deleted an object, before which begin was called.
func (c *changes) deleted(obj *unstructured.Unstructured) {
	c.feedback.Wrote(c.key, c.provenance, obj, feedback.Version{UID: obj.GetUID()})
}
