package engine_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"kanon.dev/kanon/engine"
)

const standbyRule = `
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
`

// writesAmong are the requests that change something.
func writesAmong(requests []string) []string {
	var writes []string
	for _, request := range requests {
		if !strings.HasPrefix(request, http.MethodGet+" ") {
			writes = append(writes, request)
		}
	}
	return writes
}

// standBy runs an engine that does not lead before lead is called, and returns once it has nothing to do.
func (w *world) standBy() (lead, stop func()) {
	w.t.Helper()
	leading, before := make(chan struct{}), w.requests.count()
	stop = w.run(func(o *engine.Options) { o.Leading = leading })
	if !w.idlesUntil(w.t.Context().Done()) {
		w.t.Fatal("an engine that does not lead is never idle")
	}
	if writes := writesAmong(w.requests.since(before)); len(writes) > 0 {
		w.t.Errorf("an engine that does not lead writes: %q", writes)
	}
	return func() { close(leading) }, stop
}

// An engine that stands by writes nothing, not even the first keys or a definition beside a rule. Once it leads, it reads the records
// and no object again, and writes only what differs.
func TestStandby(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	definition, err := w.definition("Note").MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	w.rule("note", string(definition)+"\n---\n"+standbyRule)
	leading := make(chan struct{})
	stop := w.run(func(o *engine.Options) { o.Leading = leading })
	read := func(context.Context) (bool, error) { return w.engine.CheckRules() == nil, nil }
	if err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, patience, true, read); err != nil {
		t.Fatalf("it never reads the rules: %v", w.engine.CheckRules())
	}
	if writes := writesAmong(w.requests.since(0)); len(writes) > 0 {
		t.Errorf("an engine that does not lead writes: %q", writes)
	}
	close(leading)
	w.verdict("note", `"ready":true`)
	w.parent("Note", "n", "{text: a}")
	w.await(configMaps, w.home, "n", "has the text", has("a", "data", "text"))
	w.quiet()
	stop()

	lead, _ := w.standBy()
	if err := w.engine.CheckCaches(); err != nil {
		t.Errorf("its caches are not filled: %v", err)
	}
	w.patch(w.resource("Note"), w.home, "n", `{"spec": {"text": "b"}}`)
	w.quiet()
	before := w.requests.count()
	lead()
	w.await(configMaps, w.home, "n", "has the new text", has("b", "data", "text"))
	w.quiet()
	records := http.MethodGet + " /api/v1/namespaces/" + w.kanon + "/configmaps"
	for _, request := range w.requests.since(before) {
		isChild := strings.HasSuffix(request, w.home+"/configmaps/n")
		isStatus := strings.Contains(request, "/notes/n/status")
		isDefinition := strings.HasPrefix(request, "GET /openapi/") || strings.HasPrefix(request, "GET /apis/apiextensions.k8s.io/")
		if request != records && !isChild && !isStatus && !isDefinition {
			t.Errorf("once it leads, it sends %s", request)
		}
	}
}
