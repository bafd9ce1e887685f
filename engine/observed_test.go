package engine_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine"
)

// chainRule runs a task once, keeps in the status that it has succeeded, and then
// removes it and makes what should follow.
const chainRule = `
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: chain}
spec:
  parent: {apiVersion: $GROUP/v1, kind: Note}
  variables:
  - {name: migrated, value: "${parent.?status.?migrated.orValue(false)}"}
  children:
  - id: migrate
    when: ${!variables.migrated}
    template:
      apiVersion: $GROUP/v1
      kind: Task
      metadata: {name: "${parent.metadata.name}"}
      spec: {attempt: "${observed.migrate == null ? 1 : observed.migrate.spec.attempt}"}
  - id: serve
    when: ${variables.migrated}
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${parent.metadata.name}"}
  status:
    migrated: ${variables.migrated || (observed.migrate != null && observed.migrate.?status.?succeeded.orValue(0) > 0)}
`

// A state machine goes through its states once, also over a restart.
func TestStateMachine(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note", "Task")
	w.rule("chain", chainRule)
	stop := w.run()
	w.parent("Note", "n", "{}")
	task := w.await(w.resource("Task"), w.home, "n", "is made", exists)
	w.await(w.resource("Note"), w.home, "n", "is not migrated", has(false, "status", "migrated"))
	w.quiet()
	w.patchStatus(w.resource("Task"), w.home, "n", `{"status":{"succeeded":1}}`)
	w.await(configMaps, w.home, "n", "follows", exists)
	w.awaitGone(w.resource("Task"), w.home, "n")
	w.await(w.resource("Note"), w.home, "n", "is migrated and ready", func(obj *unstructured.Unstructured) bool {
		return field(obj, "status", "migrated") == true && isTrue("Ready")(obj)
	})
	w.quiet()
	stop()
	from := w.requests.count()
	w.run()
	w.patch(w.resource("Note"), w.home, "n", `{"spec":{"other":"x"}}`)
	w.await(w.resource("Note"), w.home, "n", "is looked at", func(obj *unstructured.Unstructured) bool {
		return conditionGeneration(obj, "Ready") == obj.GetGeneration()
	})
	w.quiet()
	if got := w.requestsAtHome(from); len(got) != 1 {
		t.Errorf("%d requests, want one for the condition's generation: %q", len(got), got)
	}
	made := 0
	for _, request := range w.requests.since(0) {
		if request == "POST /apis/"+w.group+"/v1/namespaces/"+w.home+"/tasks" {
			made++
		}
	}
	if made != 1 {
		t.Errorf("%d tasks were made, the first of them %s; want one", made, task.GetUID())
	}
}

const itemsRule = `
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: items}
spec:
  parent: {apiVersion: $GROUP/v1, kind: Note}
  children:
  - id: items
    forEach: [{name: i, in: "${parent.spec.items}"}]
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${parent.metadata.name}-${i}"}
      data: {seed: "${observed.items.filter(o, o.metadata.name.endsWith('-' + i)).map(o, o.data.seed)[?0].orValue(parent.spec.seed)}"}
  status:
    live: '${observed.items.map(o, (has(o.metadata.deletionTimestamp) ? "-" : "+") + o.metadata.name).join(" ")}'
`

// observed has what a node made as long as it is there, also what is not rendered
// any more and on its way out; a child can keep what it said at first.
func TestObserved(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	w.rule("items", itemsRule)
	w.run()
	w.parent("Note", "n", "{items: [a, b], seed: first}")
	live := func(want string) {
		t.Helper()
		w.await(w.resource("Note"), w.home, "n", "has "+want, has(want, "status", "live"))
	}
	live("+n-a +n-b")
	w.patch(configMaps, w.home, "n-b", `{"metadata":{"finalizers":["example.com/held"]}}`)
	w.patch(w.resource("Note"), w.home, "n", `{"spec":{"items":["a","c"],"seed":"second"}}`)
	live("+n-a -n-b +n-c")
	for name, seed := range map[string]string{"n-a": "first", "n-c": "second"} {
		if got := field(w.get(configMaps, w.home, name), "data", "seed"); got != seed {
			t.Errorf("%s has the seed %v, want %s", name, got, seed)
		}
	}
	w.patch(configMaps, w.home, "n-b", `{"metadata":{"finalizers":null}}`)
	live("+n-a +n-c")
	w.quiet()
}

// The items of a child that depends on another with the same items wait each for
// its own.
func TestPairedItems(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note", "Task")
	w.rule("pairs", `
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: pairs}
spec:
  parent: {apiVersion: $GROUP/v1, kind: Note}
  children:
  - id: task
    forEach: [{name: i, in: "${parent.spec.items}"}]
    readyWhen: ${self.status.done}
    template:
      apiVersion: $GROUP/v1
      kind: Task
      metadata: {name: "${i}"}
  - id: after
    forEach: {sameAs: task}
    dependsOn: [task]
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "after-${each.task.metadata.name}"}
`)
	w.run()
	w.parent("Note", "n", "{items: [a, b]}")
	w.await(w.resource("Task"), w.home, "a", "is made", exists)
	w.await(w.resource("Task"), w.home, "b", "is made", exists)
	w.patchStatus(w.resource("Task"), w.home, "b", `{"status":{"done":true}}`)
	w.await(configMaps, w.home, "after-b", "follows", exists)
	w.quiet()
	list, err := w.at(configMaps, w.home).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, obj := range list.Items {
		if obj.GetName() == "after-a" {
			t.Error("an item did not wait for the one that it is paired with")
		}
	}
	w.patchStatus(w.resource("Task"), w.home, "a", `{"status":{"done":true}}`)
	w.await(configMaps, w.home, "after-a", "follows", exists)
	w.await(w.resource("Note"), w.home, "n", "is ready", isTrue("Ready"))
	w.quiet()
}

// A parent that would have more children than is allowed is stalled, which names
// the node, the figure and the option, and has them again when it asks for fewer.
func TestTooManyChildren(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	w.rule("items", itemsRule)
	w.run(func(o *engine.Options) { o.Limits.Children = 2 })
	w.parent("Note", "n", "{items: [a, b], seed: x}")
	w.await(w.resource("Note"), w.home, "n", "is ready", isTrue("Ready"))
	w.patch(w.resource("Note"), w.home, "n", `{"spec":{"items":["b","c","d"]}}`)
	stalled := w.await(w.resource("Note"), w.home, "n", "is stalled", isTrue("Stalled"))
	message := conditionField(stalled, "Stalled", "message")
	for _, want := range []string{"child items: ", " 3 ", " 2 ", "--max-children"} {
		if !strings.Contains(message, want) {
			t.Errorf("the message lacks %q: %s", want, message)
		}
	}
	w.quiet()
	w.get(configMaps, w.home, "n-a") // nothing is pruned meanwhile
	w.patch(w.resource("Note"), w.home, "n", `{"spec":{"items":["b","c"]}}`)
	w.await(configMaps, w.home, "n-c", "is made", exists)
	w.awaitGone(configMaps, w.home, "n-a")
	w.await(w.resource("Note"), w.home, "n", "is ready", isTrue("Ready"))
}
