package apply

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine/apply/applytest"
	"kanon.dev/kanon/engine/apply/fieldset"
)

// ownedMetadata is what our entries hold of metadata in every case below.
const ownedMetadata = `"f:metadata": {
	"f:labels": {"f:kanon.dev/rule": {}, "f:kanon.dev/parent-uid": {}, "f:kanon.dev/node": {}},
	"f:annotations": {"f:kanon.dev/owner": {}, "f:kanon.dev/applied": {}},
	"f:ownerReferences": {"k:{\"uid\":\"parent-uid\"}": {}}}`

func TestInSync(t *testing.T) {
	c := prepare(t, rendered+"spec: {replicas: 1}")
	live := applytest.WithManaged(c.Object, applytest.Managed(t, fieldset.Manager, "Apply", "test/v1", "{"+ownedMetadata+`, "f:spec": {"f:replicas": {}}}`))
	live.SetUID("live-uid")
	w := offline(t)
	if !inSync(w, c, live) {
		t.Fatal("not in sync after a restart with everything in place")
	}
	stale := with(live, func(o *unstructured.Unstructured) { o.SetAnnotations(nil) })
	if inSync(w, c, stale) {
		t.Error("in sync without a recorded hash")
	}
	if inSync(w, prepare(t, rendered+"spec: {replicas: 2}"), live) {
		t.Error("in sync with another value")
	}
	taken := applytest.WithManaged(live, applytest.Managed(t, fieldset.Manager, "Apply", "test/v1", "{"+ownedMetadata+"}"))
	if inSync(w, c, taken) {
		t.Error("in sync although a field was taken from us")
	}

	// What a write left is in sync by comparison, even where the cover check would say no.
	w.remember(c, taken)
	if !inSync(w, c, taken) {
		t.Error("not in sync with the answer of our last write")
	}
	w.Forget("live-uid")
	if inSync(w, c, taken) || len(w.known) != 0 {
		t.Error("Forget forgets nothing")
	}
}
