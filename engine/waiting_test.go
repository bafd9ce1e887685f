package engine_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine"
)

// waiterRule makes a ConfigMap of each Service, from a setting that is looked up, and with the
// namespace that the Service asks for.
const waiterRule = `
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: waiter}
spec:
  parent: {apiVersion: v1, kind: Service, namespaces: [$HOME]}
  lookups:
  - {id: settings, apiVersion: v1, kind: ConfigMap, name: "${parent.metadata.name}-settings"}
  children:
  - id: config
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${parent.metadata.name}", namespace: "${lookups.settings.data.?namespace.orValue('$HOME')}"}
      data: {color: "${lookups.settings.data.color}"}
`

func (w *world) service(name string) {
	w.t.Helper()
	w.create(services, w.object("apiVersion: v1\nkind: Service\nmetadata: {name: "+name+", namespace: $HOME}\nspec: {ports: [{port: 80}]}\n"))
}

// What a parent waits for that can have no conditions is an Event once it has lasted for long,
// and another one when the reason changes.
func TestWaitingOfABuiltInParent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.rule("waiter", waiterRule)
	clock := newHandClock()
	w.run(func(o *engine.Options) { o.Clock = clock })
	w.verdict("waiter", `"ready":true`)
	w.service("s")
	w.awaitLook("s")
	w.quiet()
	if said := w.saidOf("s", "Waiting"); len(said) > 0 {
		t.Errorf("it is said at once: %q", said)
	}
	look := func(at string) {
		looks := w.looks("s")
		w.patch(services, w.home, "s", `{"metadata":{"annotations":{"kanon.dev/reconcile-at":"`+at+`"}}}`)
		for w.looks("s") == looks {
			<-time.After(10 * time.Millisecond) // the count is nowhere to be watched
		}
	}
	clock.advance()
	look("1")
	w.awaitEvent(w.home, "s", "Waiting")
	if said := w.saidOf("s", "Waiting"); len(said) != 1 || !strings.Contains(said[0], `child config`) || !strings.Contains(said[0], "s-settings") {
		t.Errorf("what is said is %q", said)
	}
	clock.advance()
	look("2")
	w.quiet()
	if said := w.saidOf("s", "Waiting"); len(said) != 1 {
		t.Errorf("it is said again: %q", said)
	}

	// Another reason.
	clock.advance()
	late := w.home + "-late"
	w.create(configMaps, w.object("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: s-settings, namespace: $HOME}\ndata: {color: red, namespace: "+late+"}\n"))
	w.awaitEvent(w.home, "s", "NamespaceMissing")
	if said := w.saidOf("s", "NamespaceMissing"); len(said) != 1 || !strings.Contains(said[0], `namespace "`+late+`" does not exist`) {
		t.Errorf("what is said is %q", said)
	}
	w.create(namespaces, w.object("{apiVersion: v1, kind: Namespace, metadata: {name: "+late+"}}"))
	w.await(configMaps, late, "s", "is made", has("red", "data", "color"))
}

// The Event comes by itself when the time is over. What is refused is told at once.
func TestWaitThatLasts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.rule("waiter", waiterRule)
	w.run(func(o *engine.Options) { o.WaitLimit = time.Second })
	w.verdict("waiter", `"ready":true`)
	w.service("s")
	w.awaitEvent(w.home, "s", "Waiting")
	w.quiet()

	refused := newWorld(t)
	refused.rule("waiter", waiterRule)
	refused.run(func(o *engine.Options) { o.WaitLimit = time.Hour })
	refused.verdict("waiter", `"ready":true`)
	refused.create(configMaps, refused.object("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: r, namespace: $HOME}\n"))
	refused.create(configMaps, refused.object("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: r-settings, namespace: $HOME}\ndata: {color: red}\n"))
	refused.service("r")
	refused.awaitEvent(refused.home, "r", "NameTaken")
}

// A kind whose conditions show what a parent waits for needs no Event for it.
func TestWaitingWithConditionsHasNoEvent(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	w.rule("waiter", strings.ReplaceAll(waiterRule, "apiVersion: v1, kind: Service, namespaces: [$HOME]}", "apiVersion: $GROUP/v1, kind: Note}"))
	w.run(func(o *engine.Options) { o.WaitLimit = time.Millisecond })
	w.parent("Note", "n", "{}")
	w.await(w.resource("Note"), w.home, "n", "waits", isTrue("Reconciling"))
	w.quiet()
	if said := w.saidOf("n", "Waiting"); len(said) > 0 {
		t.Errorf("it is said by Events: %q", said)
	}
}

// A child in a namespace that does not exist says so, and is made when the namespace is, without
// being tried meanwhile. Namespaces are watched only as long as that is so.
func TestMissingNamespace(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	w.rule("waiter", strings.ReplaceAll(waiterRule, "apiVersion: v1, kind: Service, namespaces: [$HOME]}", "apiVersion: $GROUP/v1, kind: Note}"))
	begin := time.Now()
	// Who tried again with pauses would not be in time.
	w.run(func(o *engine.Options) { o.RetryBase, o.RetryMax = time.Hour, time.Hour })
	watches := func() bool {
		return slices.Contains(w.requests.allSince(begin), "GET /api/v1/namespaces")
	}
	settings := func(name, namespace string) {
		w.create(configMaps, w.object("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: "+name+"-settings, namespace: $HOME}\ndata: {color: red, namespace: "+namespace+"}\n"))
	}
	settings("near", w.home)
	w.parent("Note", "near", "{}")
	w.await(w.resource("Note"), w.home, "near", "is ready", isTrue("Ready"))
	if watches() {
		t.Error("Namespaces are read although no child needs another one")
	}
	late := w.home + "-late"
	settings("far", late)
	w.parent("Note", "far", "{}")
	missing := func(reason string) {
		t.Helper()
		far := w.await(w.resource("Note"), w.home, "far", "says "+reason, func(obj *unstructured.Unstructured) bool {
			return conditionField(obj, "Reconciling", "reason") == reason
		})
		if message := conditionField(far, "Ready", "message"); !strings.Contains(message, late) {
			t.Errorf("the message does not name the namespace: %s", message)
		}
	}
	missing("NamespaceMissing")
	w.quiet()
	if !watches() || w.engine.Remembered(w.home)["borrowed"] != 1 {
		t.Error("nobody waits for the namespace")
	}
	made := func() {
		w.create(namespaces, w.object("{apiVersion: v1, kind: Namespace, metadata: {name: "+late+"}}"))
		w.await(configMaps, late, "far", "is made", exists)
		w.await(w.resource("Note"), w.home, "far", "is ready", isTrue("Ready"))
		w.quiet()
		if n := w.engine.Remembered(w.home)["borrowed"]; n != 0 {
			t.Error("Namespaces are watched still")
		}
	}
	made()

	// The same where the namespace goes and comes back.
	w.patch(configMaps, late, "far", `{"metadata":{"finalizers":["example.com/hold"]}}`)
	w.delete(namespaces, "", late)
	missing("Terminating")
	w.patch(configMaps, late, "far", `{"metadata":{"finalizers":null}}`)
	w.awaitGone(namespaces, "", late)
	missing("NamespaceMissing")
	made()
}

// An object that is no longer rendered is named as long as something else keeps it from being deleted.
func TestWhatIsNotPrunedIsNamed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	late := w.home + "-later"
	w.rule("copies", `
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: copies}
spec:
  parent: {apiVersion: $GROUP/v1, kind: Note}
  children:
  - id: copy
    forEach: [{name: to, in: "${parent.spec.to}"}]
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "copy-${to}", namespace: "${to == 'away' ? '`+late+`' : parent.metadata.namespace}"}
`)
	w.run()
	w.parent("Note", "n", "{to: [a, b]}")
	w.await(configMaps, w.home, "copy-b", "is made", exists)
	w.patch(w.resource("Note"), w.home, "n", `{"spec": {"to": ["a", "away"]}}`)
	const kept = "/copy-b is no longer rendered, and is not deleted until everything else is up to date"
	w.await(w.resource("Note"), w.home, "n", "names what stays", func(obj *unstructured.Unstructured) bool {
		return conditionField(obj, "Ready", "reason") == "NamespaceMissing" && strings.Contains(conditionField(obj, "Ready", "message"), kept)
	})
	w.get(configMaps, w.home, "copy-b")
	w.create(namespaces, w.object("{apiVersion: v1, kind: Namespace, metadata: {name: "+late+"}}"))
	w.awaitGone(configMaps, w.home, "copy-b")
	w.await(w.resource("Note"), w.home, "n", "is ready", isTrue("Ready"))
}
