package engine_test

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"kanon.dev/kanon/engine"
	"kanon.dev/kanon/engine/watch"
)

// The API server can delete an object although a finalizer was put on it a moment before.
// What was made for such a parent that only the rule can end is ended, and another
// parent of its name has nothing of it.
func TestParentThatGoesAlthoughItIsHeld(t *testing.T) {
	t.Parallel()
	w, elsewhere := wideWorld(t)
	w.rule("wide", wideRule)
	teams, zones := w.resource("Team"), w.resource("Zone")
	var lost, again atomic.Bool
	config := rest.CopyConfig(w.config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			holds := false
			if r.Header.Get("Content-Type") == string(types.ApplyPatchType) && strings.HasSuffix(r.URL.Path, "/teams/red") {
				if body, err := r.GetBody(); err == nil {
					text, _ := io.ReadAll(body)
					holds = strings.Contains(string(text), "finalizers")
				}
			}
			answer, err := next.RoundTrip(r)
			if !holds || err != nil || !lost.CompareAndSwap(false, true) {
				return answer, err
			}
			// As if the finalizer had come after the API server's look.
			w.patch(teams, w.home, "red", `{"metadata":{"finalizers":null}}`)
			if err := w.at(teams, w.home).Delete(t.Context(), "red", metav1.DeleteOptions{}); err != nil {
				t.Error(err)
			}
			if again.Load() {
				w.parent("Team", "red", "{size: big, elsewhere: "+elsewhere+", far: false}")
			}
			return answer, err
		})
	})
	client, err := watch.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	w.run(func(o *engine.Options) { o.Client = client })
	w.team("first", elsewhere) // has the schemas loaded
	for _, remade := range []bool{false, true} {
		again.Store(remade)
		lost.Store(false)
		w.parent("Team", "red", "{size: small, elsewhere: "+elsewhere+"}")
		if remade {
			w.await(teams, w.home, "red", "is another one, and ready", func(obj *unstructured.Unstructured) bool {
				return isTrue("Ready")(obj) && has("big", "spec", "size")(obj)
			})
		} else {
			w.awaitGone(teams, w.home, "red")
		}
		w.quiet()
		w.awaitGone(zones, "", w.home+"-red")
		w.awaitGone(configMaps, elsewhere, "red-far")
	}
}
