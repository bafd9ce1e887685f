package apply

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestDelete(t *testing.T) {
	gone := func(w *world, live *unstructured.Unstructured) bool {
		_, err := w.client(live).Get(w.t.Context(), live.GetName(), metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	}
	tests := map[string]struct {
		reason   string
		meantime func(w *world, live *unstructured.Unstructured)
		requests string
		gone     bool
	}{
		"as last seen": {"one request", func(*world, *unstructured.Unstructured) {}, "DELETE", true},
		"changed since": {"read once more", func(w *world, live *unstructured.Unstructured) {
			w.patch("other", live, `[{"op": "add", "path": "/data/x", "value": "y"}]`)
		}, "DELETE GET DELETE", true},
		"gone since": {"that is what was asked for", func(w *world, live *unstructured.Unstructured) {
			if err := w.client(live).Delete(w.t.Context(), "child", metav1.DeleteOptions{}); err != nil {
				w.t.Fatal(err)
			}
		}, "DELETE", true},
		"replaced since": {"another object is not ours", func(w *world, live *unstructured.Unstructured) {
			if err := w.client(live).Delete(w.t.Context(), "child", metav1.DeleteOptions{}); err != nil {
				w.t.Fatal(err)
			}
			w.post("kubectl", configMap)
		}, "DELETE GET", false},
		"given away since": {"it was ours", func(w *world, live *unstructured.Unstructured) {
			w.patch("other", live, `[{"op": "remove", "path": "/metadata/ownerReferences"},
				{"op": "remove", "path": "/metadata/annotations/kanon.dev~1applied"}]`)
		}, "DELETE GET", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			live := w.sync(w.child(configMap), nil, ActionCreated, "POST")
			tt.meantime(w, live)
			if err := w.writer.Delete(t.Context(), resourceOf(live), live); err != nil {
				t.Fatal(err)
			}
			if sent := w.requests.take(); sent != tt.requests || gone(w, live) != tt.gone {
				t.Errorf("sent %q, gone %t; want %q, %t: %s", sent, gone(w, live), tt.requests, tt.gone, tt.reason)
			}
		})
	}
	t.Run("being deleted already", func(t *testing.T) {
		w := newWorld(t)
		live := w.sync(w.child(configMap), nil, ActionCreated, "POST")
		if err := w.writer.Delete(t.Context(), resourceOf(live), with(live, terminating)); err != nil || w.requests.take() != "" {
			t.Errorf("Delete: %v, or a request was sent", err)
		}
	})
	t.Run("a stranger's", func(t *testing.T) {
		w := newWorld(t)
		stranger := w.post("kubectl", configMap)
		if err := w.writer.Delete(t.Context(), resourceOf(stranger), stranger); err == nil || w.requests.take() != "" {
			t.Errorf("Delete: %v, or a request was sent", err)
		}
	})
}

// TestAnOwnerReferenceRestoredDuringOrphaningLosesTheChild holds why a child of a parent that is being deleted is not
// written to, and why RestoresController makes the caller look at the parent first: while the parent is deleted with
// orphaning, the garbage collector takes the references out of the children; one that is put back then points to a parent
// that is gone a moment later, and the child is collected.
func TestAnOwnerReferenceRestoredDuringOrphaningLosesTheChild(t *testing.T) {
	w := newWorld(t)
	w.patch("other", w.parent, `[{"op": "add", "path": "/metadata/finalizers", "value": ["example.test/hold"]}]`)
	c := w.child(configMap)
	live := w.sync(c, nil, ActionCreated, "POST")
	orphan := metav1.DeletePropagationOrphan
	if err := w.client(w.parent).Delete(t.Context(), "parent", metav1.DeleteOptions{PropagationPolicy: &orphan}); err != nil {
		t.Fatal(err)
	}
	w.until(t.Context(), live, func(now *unstructured.Unstructured) bool { // the garbage collector orphans it
		return len(now.GetOwnerReferences()) == 0
	})
	live = w.get(live)
	if !c.RestoresController(live) {
		t.Error("the caller is not told that an ownerReference would be restored")
	}
	w.sync(c, live, ActionApplied, "APPLY") // what the caller must not do
	w.until(t.Context(), w.parent, func(now *unstructured.Unstructured) bool {
		return len(now.GetFinalizers()) == 1 // orphan is done, only our own is left
	})
	w.patch("other", w.parent, `[{"op": "remove", "path": "/metadata/finalizers"}]`)
	w.until(t.Context(), live, func(now *unstructured.Unstructured) bool { return now == nil })
}
