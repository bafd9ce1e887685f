package engine_test

import (
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"kanon.dev/kanon/engine"
	"kanon.dev/kanon/engine/watch"
)

// gatekeeper has certain requests wait until the gate is open.
type gatekeeper struct {
	entered, open chan struct{}
	once          sync.Once
}

// gated is a client of which the requests that are to wait do so at the gate.
func (w *world) gated(waits func(*http.Request) bool) (engine.Client, *gatekeeper) {
	w.t.Helper()
	g := &gatekeeper{entered: make(chan struct{}), open: make(chan struct{})}
	config := w.clientConfig()
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if waits(r) {
				g.once.Do(func() { close(g.entered) })
				select {
				case <-g.open:
				case <-r.Context().Done():
				}
			}
			return next.RoundTrip(r)
		})
	})
	client, err := watch.NewForConfig(config)
	if err != nil {
		w.t.Fatal(err)
	}
	return client, g
}

// A pass of a rule that was replaced while it was under way says less than the new
// revision will: nothing of that is released for the time until the parent's next pass.
func TestPassOfAReplacedRevision(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	w.create(configMaps, w.object("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: shared, namespace: $HOME}\n"))
	setting := func(data string) string {
		return patchRule("- id: p\n  target: {apiVersion: v1, kind: ConfigMap, name: shared}\n  template: {data: {" + data + "}}\n")
	}
	child := "  children:\n  - id: gate\n    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: gate}}\n"
	w.rule("r", setting("a: x, b: x"))
	client, gate := w.gated(func(r *http.Request) bool {
		return r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/namespaces/"+w.home+"/configmaps")
	})
	w.run(func(o *engine.Options) { o.Client = client })
	w.parentOnce("Note", "one")
	w.await(w.resource("Note"), w.home, "one", "is ready", isTrue("Ready"))

	w.rule("r", setting("a: x")+child)
	<-gate.entered // the pass has evaluated this revision, and says later what it sets
	from := w.requests.count()
	w.texts("r", map[string]string{"rule.yaml": setting("a: x, b: x, c: x") + child, "wrong.yaml": "kind: Rule"})
	w.verdict("r", "wrong.yaml") // by then the next revision has begun
	close(gate.open)
	w.await(configMaps, w.home, "shared", "is patched by the newest revision", has("x", "data", "c"))
	w.quiet()
	if got := w.writesSince(from, "configmaps/shared"); len(got) != 1 {
		t.Errorf("the target was written to %d times, want once, as nothing of it goes: %q", len(got), got)
	}
}

// A patch that a rule dropped comes back while its objects are being listed: it is not
// released where the rule sets it again.
func TestPatchThatComesBackWhileItIsReleased(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	w.create(configMaps, w.object("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: shared, namespace: $HOME}\n"))
	with := patchRule("- id: p\n  target: {apiVersion: v1, kind: ConfigMap, name: shared}\n  template: {data: {a: x}}\n")
	var sweeping atomic.Bool // informers list as well
	client, gate := w.gated(func(r *http.Request) bool {
		return r.Method == http.MethodGet && r.URL.Path == "/api/v1/configmaps" && r.URL.Query().Get("watch") == "" &&
			r.URL.Query().Get("labelSelector") == "" && r.URL.Query().Get("limit") != "" && sweeping.Load()
	})
	w.rule("r", with)
	w.run(func(o *engine.Options) { o.Client = client })
	w.parentOnce("Note", "one")
	w.await(w.resource("Note"), w.home, "one", "is ready", isTrue("Ready"))

	sweeping.Store(true)
	without := patchRule("- id: none\n  when: ${false}\n  template: {metadata: {labels: {x: y}}}\n")
	w.rule("r", without)
	<-gate.entered
	w.awaitRecord("r", w.revisionOf(without))
	from := w.requests.count()
	w.rule("r", with)
	w.awaitRecord("r", w.revisionOf(with)) // it runs, and has the patch again
	close(gate.open)
	w.quiet()
	if got := w.writesSince(from, "configmaps/shared"); len(got) != 0 || field(w.get(configMaps, w.home, "shared"), "data", "a") != "x" {
		t.Errorf("the target was written to by %q, and should be as it is", got)
	}
}
