package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine"
)

// contestedRule makes two ConfigMaps of each Note, of which others will want one.
const contestedRule = `
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: contested}
spec:
  parent: {apiVersion: $GROUP/v1, kind: Note}
  children:
  - id: config
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${parent.metadata.name}"}
      data: {color: "${parent.spec.color}", "a.b": x}
  - id: other
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${parent.metadata.name}-other"}
      data: {color: "${parent.spec.color}"}
`

// paint keeps data.color of a ConfigMap at a value, as a controller would, until
// the function that it returns is called.
func (w *world) paint(name, color string) (stop func()) {
	ctx, cancel := context.WithCancel(w.t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			w.paintUntilItEnds(ctx, name, color)
		}
	}()
	return func() { cancel(); <-done }
}

func (w *world) paintUntilItEnds(ctx context.Context, name, color string) {
	watcher, err := w.at(configMaps, w.home).Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name})
	if err != nil {
		return
	}
	defer watcher.Stop()
	for event := range watcher.ResultChan() {
		if obj, ok := event.Object.(*unstructured.Unstructured); ok && field(obj, "data", "color") != color {
			if _, err := w.at(configMaps, w.home).Patch(ctx, name, types.MergePatchType,
				fmt.Appendf(nil, `{"data":{"color":%q}}`, color), metav1.PatchOptions{FieldManager: "painter"}); err != nil {
				return // to begin anew
			}
		}
	}
}

// awaitRequest waits until the engine has sent something about the world's home after
// the first n requests.
func (w *world) awaitRequest(n int) {
	w.t.Helper()
	for deadline := time.Now().Add(patience); len(w.requestsAtHome(n)) == 0; {
		if time.Now().After(deadline) {
			w.t.Fatal("the engine sends nothing")
		}
		<-time.After(50 * time.Millisecond) // the count is nowhere to be watched
	}
}

// A field that another controller wants otherwise is given up after a few rounds;
// the parent says which field, whose, and what can be done, and all heals when the
// other stops. The clock is moved by hand: a pause is over when the test says so,
// however long the other takes.
func TestContestedField(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	w.rule("contested", contestedRule)
	clock := newHandClock()
	w.run(func(o *engine.Options) { o.Clock = clock })
	w.parent("Note", "n", "{color: red}")
	w.await(w.resource("Note"), w.home, "n", "is ready", isTrue("Ready"))

	// Somebody who tries it by hand, twice, starts no contest.
	for range 2 {
		w.patch(configMaps, w.home, "n", `{"data":{"color":"green"}}`)
		w.await(configMaps, w.home, "n", "is put right", has("red", "data", "color"))
	}
	w.quiet()
	if len(w.saidOf("n", "Contested")) > 0 {
		t.Error("two changes by hand count as a contest")
	}

	stop := w.paint("n", "blue")
	stalled := w.await(w.resource("Note"), w.home, "n", "is stalled", isTrue("Stalled"))
	if reason := conditionField(stalled, "Stalled", "reason"); reason != "Contested" {
		t.Errorf("the reason is %q", reason)
	}
	message := conditionField(stalled, "Stalled", "message")
	for _, want := range []string{"child config: data.color of ConfigMap " + w.home + "/n ", "painter", `ignore: ["data.color"]`} {
		if !strings.Contains(message, want) {
			t.Errorf("the message lacks %q: %s", want, message)
		}
	}
	w.awaitEvent(w.home, "n", "Contested")
	isStalledAt := func(obj *unstructured.Unstructured) bool {
		return isTrue("Stalled")(obj) && conditionGeneration(obj, "Stalled") == obj.GetGeneration()
	}
	from := w.requests.count()
	w.patch(w.resource("Note"), w.home, "n", `{"spec":{"other":"x"}}`)
	w.await(w.resource("Note"), w.home, "n", "is stalled still", isStalledAt)
	w.quiet()
	if got := w.requestsAtHome(from); len(got) != 1 {
		t.Errorf("%d requests in a pause, want one for the condition's generation: %q", len(got), got)
	}
	from = w.requests.count()
	clock.advance()
	w.awaitRequest(from)
	w.quiet()
	want := []string{"PUT /api/v1/namespaces/" + w.home + "/configmaps/n"}
	if diff := cmp.Diff(want, w.requestsAtHome(from)); diff != "" {
		t.Errorf("requests after a pause, want one write on trial (-want +got):\n%s", diff)
	}
	if said := w.saidOf("n", "Contested"); len(said) != 1 {
		t.Errorf("it is told %d times: %q", len(said), said)
	}
	// What is rendered anew is written, and the other child goes on.
	w.patch(w.resource("Note"), w.home, "n", `{"spec":{"color":"pink"}}`)
	w.await(configMaps, w.home, "n-other", "follows", has("pink", "data", "color"))
	w.await(w.resource("Note"), w.home, "n", "is stalled anew", isStalledAt)
	stop()
	clock.advance()
	w.await(configMaps, w.home, "n", "is the rule's on trial", has("pink", "data", "color"))
	clock.advance()
	w.await(w.resource("Note"), w.home, "n", "is ready again", isTrue("Ready"))
	w.quiet()

	// What the message advises ends it too.
	stop = w.paint("n", "blue")
	w.await(w.resource("Note"), w.home, "n", "is stalled", isTrue("Stalled"))
	w.rule("contested", strings.ReplaceAll(contestedRule, "- id: config", "- id: config\n    ignore: [\"data.color\"]"))
	w.await(w.resource("Note"), w.home, "n", "is ready with what others say", isTrue("Ready"))
	w.await(configMaps, w.home, "n", "is the other's", has("blue", "data", "color"))
	w.quiet()
	stop()
}

// What a patch sets and another controller takes back is given up in the same way.
func TestContestedPatch(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	w.rule("r", patchRule(`
- id: color
  target: {apiVersion: v1, kind: ConfigMap, name: shared, namespace: "${parent.metadata.namespace}"}
  template: {data: {color: red}}`))
	w.create(configMaps, w.object("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: shared, namespace: $HOME}\ndata: {color: none}\n"))
	clock := newHandClock()
	w.run(func(o *engine.Options) { o.Clock = clock })
	w.parent("Note", "n", "{}")
	w.await(configMaps, w.home, "shared", "is patched", has("red", "data", "color"))
	w.await(w.resource("Note"), w.home, "n", "is ready", isTrue("Ready"))
	stop := w.paint("shared", "blue")
	stalled := w.await(w.resource("Note"), w.home, "n", "is stalled", isTrue("Stalled"))
	if reason := conditionField(stalled, "Stalled", "reason"); reason != "Contested" {
		t.Errorf("the reason is %q", reason)
	}
	message := conditionField(stalled, "Stalled", "message")
	for _, want := range []string{"patch color: data.color of ConfigMap " + w.home + "/shared ", "painter"} {
		if !strings.Contains(message, want) {
			t.Errorf("the message lacks %q: %s", want, message)
		}
	}
	w.awaitEvent(w.home, "n", "Contested")
	w.quiet() // in the pause
	from := w.requests.count()
	clock.advance()
	w.awaitRequest(from)
	w.quiet()
	// One try: what is taken is remembered, applied, and may be looked at.
	if got := w.requestsAtHome(from); len(got) > 4 {
		t.Errorf("%d requests after a pause: %q", len(got), got)
	}
	stop()
	clock.advance()
	w.await(configMaps, w.home, "shared", "is patched on trial", has("red", "data", "color"))
	clock.advance()
	w.await(w.resource("Note"), w.home, "n", "is ready again", isTrue("Ready"))
	w.quiet()
}
