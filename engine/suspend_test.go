package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine"
)

const (
	suspend = `{"metadata":{"annotations":{"kanon.dev/suspend":"true"}}}`
	resume  = `{"metadata":{"annotations":{"kanon.dev/suspend":null}}}`
)

// secondRule makes another ConfigMap of each Box, and with secondService a Service.
const (
	secondRule = `
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: second}
spec:
  conditionPrefix: Second
  parent: {apiVersion: $GROUP/v1, kind: Box}
  children:
  - id: config
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${parent.metadata.name}-second"}
      data: {color: "${parent.spec.color}"}
`
	secondService = `
  - id: service
    when: ${parent.spec.?served.orValue(true)}
    template:
      apiVersion: v1
      kind: Service
      metadata: {name: "${parent.metadata.name}-second"}
      spec:
        selector: {box: "${parent.metadata.name}"}
        ports: [{port: 80}]
`
)

// suspendedBox is a Box that two rules have brought up to date, and that was
// suspended then.
func suspendedBox(t *testing.T) (w *world, stop func()) {
	t.Helper()
	w = newWorld(t, "Box")
	w.rule("box", boxRule)
	w.rule("second", secondRule+secondService)
	stop = w.run()
	w.verdict("box", `"ready":true`)
	w.verdict("second", `"ready":true`)
	w.parent("Box", "red", "{color: red}")
	w.await(w.resource("Box"), w.home, "red", "is ready for both", func(obj *unstructured.Unstructured) bool {
		return isTrue("Ready")(obj) && isTrue("SecondReady")(obj)
	})
	w.patch(w.resource("Box"), w.home, "red", suspend)
	w.quiet()
	return w, stop
}

// disturb changes all that would make Kanon write to, create or delete a child of the
// Box, or write its status.
func disturb(w *world) {
	w.patch(w.resource("Box"), w.home, "red", `{"spec":{"color":"blue","served":false}}`)
	w.patch(configMaps, w.home, "red-config", `{"data":{"color":"grey"}}`)
	w.delete(configMaps, w.home, "red-second")
	w.patchStatus(w.resource("Box"), w.home, "red", `{"status":{"color":"grey"}}`)
}

func checkUntouched(w *world, from int) {
	w.t.Helper()
	w.quiet()
	if got := w.requestsAtHome(from); len(got) != 0 {
		w.t.Errorf("requests for a suspended parent: %q", got)
	}
	w.get(services, w.home, "red")
	w.get(services, w.home, "red-second")
}

func checkCaughtUp(w *world) {
	w.t.Helper()
	w.await(configMaps, w.home, "red-config", "is blue", has("blue", "data", "color"))
	w.await(configMaps, w.home, "red-second", "is back", has("blue", "data", "color"))
	w.awaitGone(services, w.home, "red")
	w.awaitGone(services, w.home, "red-second")
	w.await(w.resource("Box"), w.home, "red", "says so", has("blue", "status", "color"))
}

// Nothing is written or deleted for a suspended parent, by no rule, and all is caught
// up with when it goes on.
func TestSuspendedParent(t *testing.T) {
	t.Parallel()
	w, _ := suspendedBox(t)
	from := w.requests.count()
	disturb(w)
	checkUntouched(w, from)
	w.patch(w.resource("Box"), w.home, "red", resume)
	checkCaughtUp(w)
}

// A restart does not end a suspension, and neither does a rule that changes.
func TestSuspendedParentOverARestart(t *testing.T) {
	t.Parallel()
	w, stop := suspendedBox(t)
	stop()
	from := w.requests.count()
	disturb(w)
	w.run()
	w.awaitLook("red")
	w.quiet()
	w.rule("second", "spec: [unclosed\n")
	w.verdict("second", "cannot be read")
	w.rule("second", secondRule)
	w.verdict("second", `"ready":true`)
	checkUntouched(w, from)
	w.patch(w.resource("Box"), w.home, "red", resume)
	checkCaughtUp(w)
}

// A suspended parent that leaves the rule's selector keeps its children until it goes
// on; they are pruned then.
func TestSuspendedParentThatLeavesTheSelector(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Box")
	w.rule("box", strings.ReplaceAll(boxRule, "kind: Box}", "kind: Box, selector: {matchLabels: {use: 'yes'}}}"))
	w.run()
	w.create(w.resource("Box"), w.object("apiVersion: $GROUP/v1\nkind: Box\nmetadata: {name: red, namespace: $HOME, labels: {use: 'yes'}}\nspec: {color: red}\n"))
	w.await(w.resource("Box"), w.home, "red", "is ready", isTrue("Ready"))
	w.patch(w.resource("Box"), w.home, "red", suspend)
	w.quiet()
	from := w.requests.count()
	w.patch(w.resource("Box"), w.home, "red", `{"metadata":{"labels":null}}`)
	w.create(w.resource("Box"), w.object("apiVersion: $GROUP/v1\nkind: Box\nmetadata: {name: next, namespace: "+w.kanon+", labels: {use: 'yes'}}\nspec: {color: red}\n"))
	w.await(w.resource("Box"), w.kanon, "next", "is ready, so that the watch has brought what came before it", isTrue("Ready"))
	w.awaitLooks("red", 2) // whether it is suspended still
	for _, request := range w.requestsAtHome(from) {
		if !strings.HasPrefix(request, "GET ") {
			t.Errorf("%s for a suspended parent", request)
		}
	}
	w.get(configMaps, w.home, "red-config")
	w.patch(w.resource("Box"), w.home, "red", resume)
	w.awaitGone(configMaps, w.home, "red-config")
	w.awaitGone(services, w.home, "red")
}

// A new value of reconcile-at does not wait for minInterval, and has a rule that
// renders the time look at the clock; the same value does it once.
func TestReconcileAt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	w.rule("paced", paced("requeueAfter: 2h\n  minInterval: 1h"))
	clock := newHandClock()
	w.run(func(o *engine.Options) { o.Clock = clock })
	w.parent("Note", "n", "{text: one}")
	first := clock.Now().UTC().Format(time.RFC3339)
	w.await(w.resource("Note"), w.home, "n", "says when", has(first, "status", "at"))
	w.quiet()
	from := w.requests.count()
	w.patch(w.resource("Note"), w.home, "n", `{"spec":{"text":"two"}}`)
	w.quiet()
	if got := w.requestsAtHome(from); len(got) != 0 {
		t.Fatalf("the parent did not wait for its interval: %q", got)
	}

	clock.advance()
	w.patch(w.resource("Note"), w.home, "n", `{"metadata":{"annotations":{"kanon.dev/reconcile-at":"now"}}}`)
	second := clock.Now().UTC().Format(time.RFC3339)
	two := w.await(w.resource("Note"), w.home, "n", "says two", has("two", "status", "text"))
	if at := field(two, "status", "at"); at != second {
		t.Errorf("the status says %v, want the time of the request, %s", at, second)
	}

	w.quiet()
	from = w.requests.count()
	w.patch(w.resource("Note"), w.home, "n", `{"spec":{"text":"three"}}`)
	w.quiet()
	if got := w.requestsAtHome(from); len(got) != 0 {
		t.Errorf("a value that was answered did it again: %q", got)
	}
}

// A suspension that ends does not wait for minInterval either.
func TestSuspendedParentWithMinInterval(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	w.rule("paced", strings.ReplaceAll(paced("minInterval: 1h"), `, at: "${now}"`, ""))
	w.run()
	w.parent("Note", "n", "{text: one}")
	w.await(w.resource("Note"), w.home, "n", "says one", has("one", "status", "text"))
	w.quiet()
	w.patch(w.resource("Note"), w.home, "n", `{"metadata":{"annotations":{"kanon.dev/suspend":"True"}},"spec":{"text":"two"}}`)
	w.quiet()
	w.patch(w.resource("Note"), w.home, "n", resume)
	w.await(w.resource("Note"), w.home, "n", "says two", has("two", "status", "text"))
}

// A parent that waits to try again after a failure is tried at once.
func TestReconcileAtAfterAFailure(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.rule("exposed", `
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: exposed}
spec:
  parent: {apiVersion: v1, kind: ConfigMap, namespaces: [$HOME], selector: {matchLabels: {exposed: "yes"}}}
  children:
  - id: service
    template:
      apiVersion: v1
      kind: Service
      metadata: {name: "${parent.metadata.name}"}
      spec: {ports: [{port: 80}]}
`)
	const stranger = "apiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: $HOME}\nspec: {ports: [{port: 81}]}\n"
	w.create(services, w.object(stranger))
	w.run(func(o *engine.Options) { o.RetryBase, o.RetryMax = time.Hour, time.Hour })
	parent := w.create(configMaps, w.object("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web, namespace: $HOME, labels: {exposed: 'yes'}}\n"))
	w.awaitEvent(w.home, "web", "NameTaken")
	w.quiet()          // what the start of the rule still asks for would find the name free
	for i := range 8 { // each fails anew
		w.patch(configMaps, w.home, "web", fmt.Sprintf(`{"data":{"n":"%d"}}`, i))
		w.quiet()
	}
	before := w.engine.Failures("web")
	w.patch(configMaps, w.home, "web", `{"metadata":{"annotations":{"kanon.dev/reconcile-at":"soon"}}}`)
	w.quiet()
	if n := w.engine.Failures("web"); before < 8 || n != 1 {
		t.Errorf("after a request, %d failures count, want 1; before, %d did", n, before)
	}
	w.delete(services, w.home, "web") // of which no event tells, as the Service is none of Kanon's
	w.patch(configMaps, w.home, "web", `{"metadata":{"annotations":{"kanon.dev/reconcile-at":"now"}}}`)
	w.await(services, w.home, "web", "is made", func(obj *unstructured.Unstructured) bool { return metav1.IsControlledBy(obj, parent) })
}
