package engine_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"kanon.dev/kanon/engine"
	"kanon.dev/kanon/internal/kanontest"
	"kanon.dev/kanon/restmapping"
)

// unseen is a mapper for which, as long as hidden is true, the API server of a group does not answer.
func (w *world) unseen(group string, hidden *atomic.Bool) *restmapping.Mapper {
	w.t.Helper()
	config := rest.CopyConfig(w.config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			answer, err := next.RoundTrip(r)
			if err != nil || !hidden.Load() || r.URL.Path != "/apis" {
				return answer, err
			}
			defer func() { _ = answer.Body.Close() }() // it was read whole
			document := &unstructured.Unstructured{}
			if err := json.NewDecoder(answer.Body).Decode(&document.Object); err != nil {
				return nil, err
			}
			items, _, _ := unstructured.NestedSlice(document.Object, "items")
			for _, item := range items {
				fields, _ := item.(map[string]any)
				if name, _, _ := unstructured.NestedString(fields, "metadata", "name"); name != group {
					continue
				}
				versions, _ := fields["versions"].([]any)
				for _, version := range versions {
					version.(map[string]any)["freshness"] = "Stale"
					delete(version.(map[string]any), "resources")
				}
			}
			document.Object["items"] = items
			body, err := json.Marshal(document.Object)
			if err != nil {
				return nil, err
			}
			answer.Body, answer.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
			answer.Header.Del("Content-Length")
			answer.Header.Del("Content-Encoding")
			return answer, nil
		})
	})
	mapper, err := restmapping.New(restmapping.Options{Config: config})
	if err != nil {
		w.t.Fatal(err)
	}
	return mapper
}

// A group whose API server does not answer is not gone: a rule that was removed with its
// children is not forgotten while it is not known whether there are some in that group, and
// a patch that was dropped is released when its target can be seen.
func TestWhatCannotBeSeenIsNotGone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.define("Note")
	group := "extra." + w.group
	w.install(kanontest.Definition(t, group, "Extra", "Namespaced"))
	extras := schema.GroupVersionResource{Group: group, Version: "v1", Resource: "extras"}
	makes := note("x") + `  - id: extra
    readyWhen: ${true}
    template: {apiVersion: extra.$GROUP/v1, kind: Extra, metadata: {name: "${parent.metadata.name}-extra"}, spec: {}}
  onRuleDeletion: Delete
`
	patches := strings.Replace(patchRule(`
- id: mark
  target: {apiVersion: extra.$GROUP/v1, kind: Extra, name: target}
  template: {metadata: {labels: {marked: "yes"}}}
`), "spec:\n", "spec:\n  conditionPrefix: Patch\n", 1)
	dropped, _, _ := strings.Cut(patches, "  patches:")
	w.create(extras, w.object("apiVersion: extra.$GROUP/v1\nkind: Extra\nmetadata: {name: target, namespace: $HOME}\nspec: {}\n"))
	w.rule("makes", makes)
	w.rule("patches", patches)
	stop := w.run()
	w.parent("Note", "n", "{}")
	w.await(w.resource("Note"), w.home, "n", "is ready", isTrue("Ready"))
	w.await(extras, w.home, "target", "is marked", has("yes", "metadata", "labels", "marked"))
	w.awaitRecord("note", `"kind":"Extra"`)
	stop()

	w.delete(configMaps, w.kanon, "makes")
	w.rule("patches", dropped+"  status: {said: x}\n")
	var hidden atomic.Bool
	hidden.Store(true)
	mapper := w.unseen(group, &hidden)
	w.run(func(o *engine.Options) { o.Mapper = mapper })
	w.await(w.resource("Note"), w.home, "n", "is looked at by the other rule", has("x", "status", "said"))
	w.awaitLooks("n", 4) // the removal is tried again and again
	w.get(extras, w.home, "n-extra")
	w.get(configMaps, w.kanon, w.recordOf("note"))

	hidden.Store(false)
	w.awaitGone(extras, w.home, "n-extra")
	w.awaitGone(configMaps, w.kanon, w.recordOf("note"))
	w.await(extras, w.home, "target", "is released", func(obj *unstructured.Unstructured) bool { return len(patchManagersOf(obj)) == 0 })
}
