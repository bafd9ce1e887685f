package apply

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine/apply/fieldset"
)

// TestUnchanged holds what a glance must see besides drift: all that a child is made from.
func TestUnchanged(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	c := w.child(deployment)
	live := w.sync(c, nil, ActionCreated, "POST")
	rendered, controller := w.object(deployment), controllerRef(w.parent)
	if !unchanged(w.writer, wanted(rendered, w.owner, controller, fieldset.Policy{}), live) {
		t.Fatal("changed before anybody did anything")
	}
	status := w.patch("other", live, `[{"op": "add", "path": "/status/replicas", "value": 5}]`, "status")
	for range 2 { // by our entries, and then by the version
		if !unchanged(w.writer, wanted(rendered, w.owner, controller, fieldset.Policy{}), status) {
			t.Error("a status is taken for a change")
		}
	}
	glance := func(rendered *unstructured.Unstructured, live *unstructured.Unstructured) bool {
		return w.writer.Compare(ctx, wanted(rendered, w.owner, controller, fieldset.Policy{}), Seen{UID: live.GetUID(), Version: live.GetResourceVersion()}) == InSync
	}
	tiered := with(rendered, func(u *unstructured.Unstructured) {
		_ = unstructured.SetNestedField(u.Object, "1", "metadata", "labels", "tier")
	})
	if !glance(rendered, status) || glance(rendered, live) || glance(tiered, status) || glance(rendered, &unstructured.Unstructured{}) {
		t.Error("UnchangedIn counts for another version or another object")
	}
	node := w.owner
	node.Node = "other"
	tests := map[string]bool{
		"nothing live":         unchanged(w.writer, wanted(rendered, w.owner, controller, fieldset.Policy{}), nil),
		"another object":       unchanged(w.writer, wanted(tiered, w.owner, controller, fieldset.Policy{}), status),
		"another owner":        unchanged(w.writer, wanted(rendered, node, controller, fieldset.Policy{}), status),
		"no controller":        unchanged(w.writer, wanted(rendered, w.owner, nil, fieldset.Policy{}), status),
		"another policy":       unchanged(w.writer, wanted(rendered, w.owner, controller, fieldset.Policy{Ignore: []fieldset.Path{{{Field: "spec"}, {Field: "replicas"}}}}), status),
		"one that is going":    unchanged(w.writer, wanted(rendered, w.owner, controller, fieldset.Policy{}), with(live, terminating)),
		"one of the same name": unchanged(w.writer, wanted(rendered, w.owner, controller, fieldset.Policy{}), with(status, func(u *unstructured.Unstructured) { u.SetUID("other") })),
	}
	for name, got := range tests {
		if got {
			t.Errorf("%s: taken for unchanged", name)
		}
	}
	w.writer.Forget(status.GetUID())
	if w.unchanged(status) {
		t.Error("remembered though forgotten")
	}
}

// TestKnows holds which states of a child a pass has gone on from already.
func TestKnows(t *testing.T) {
	w := newWorld(t)
	c := w.child(deployment)
	live := w.sync(c, nil, ActionCreated, "POST")
	if !w.writer.Knows(live.GetUID(), live.GetResourceVersion()) {
		t.Error("its own creation is news")
	}
	status := w.patch("other", live, `[{"op": "add", "path": "/status/replicas", "value": 5}]`, "status")
	if w.writer.Knows(status.GetUID(), status.GetResourceVersion()) {
		t.Error("a status is known that nobody has looked at")
	}
	if !fieldset.SameButContent(live, status) {
		t.Error("a status is more than content")
	}
	labelled := w.patch("other", status, `[{"op": "add", "path": "/metadata/labels/tier", "value": "1"}]`)
	drifted := w.patch("other", status, `[{"op": "replace", "path": "/spec/replicas", "value": 7}]`)
	for what, before := range map[*unstructured.Unstructured]*unstructured.Unstructured{labelled: status, drifted: labelled} {
		if fieldset.SameButContent(before, what) {
			t.Errorf("no more than content: %v, %v", what.GetLabels(), what.Object["spec"])
		}
	}
	bare := with(live, func(u *unstructured.Unstructured) {
		unstructured.RemoveNestedField(u.Object, "metadata", "managedFields")
	})
	if fieldset.SameButContent(bare, bare) {
		t.Error("nothing tells of what is ours, and it counts as untouched")
	}
	w.writer.Forget(live.GetUID())
	if w.writer.Knows(live.GetUID(), live.GetResourceVersion()) {
		t.Error("known though forgotten")
	}
}
