package engine_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"kanon.dev/kanon/engine"
)

// An engine is idle when it has done all that there is to do, and not before it has started, or while a write has no answer.
func TestIdle(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	w.rule("note", `
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: note}
spec:
  parent: {apiVersion: $GROUP/v1, kind: Note}
  children:
  - id: config
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${parent.metadata.name}"}
      data: {text: "${parent.spec.text}"}
`)
	w.parent("Note", "n", "{text: a}")
	client, creation := w.gated(func(r *http.Request) bool {
		return r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, w.home+"/configmaps")
	})
	w.run(func(o *engine.Options) { o.Client = client })
	early := w.idlesUntil(creation.entered)
	if early || w.engine.Idle() {
		t.Error("it is idle before it has made a child")
	}
	close(creation.open)
	if !w.idlesUntil(nil) {
		t.Fatal("it is never idle")
	}
	if got := w.get(w.resource("Note"), w.home, "n"); !isTrue("Ready")(got) {
		t.Errorf("it is idle before the parent is ready: %v", got.Object)
	}
}

// idlesUntil tells whether the engine is idle at some time before end is closed.
func (w *world) idlesUntil(end <-chan struct{}) bool {
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		select {
		case <-end:
			return false
		case <-time.After(time.Millisecond):
			if w.engine.Idle() {
				return true
			}
		}
	}
	return false
}
