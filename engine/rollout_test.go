package engine_test

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// rolledRule makes Tasks of each Box, which are ready when they say so of what they
// are told. $ROLLOUT stands for how they are updated.
const rolledRule = `
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: rolled}
spec:
  parent: {apiVersion: $GROUP/v1, kind: Box}
  children:
  - id: tasks
    forEach: [{name: i, in: "${parent.spec.items}"}]
    readyWhen: ${self.?status.v.orValue("") == self.spec.v}
    rollout: {$ROLLOUT}
    template:
      apiVersion: $GROUP/v1
      kind: Task
      metadata: {name: "t-${i}"}
      spec: {v: "${parent.spec.v}", same: x}
`

func rolling(text string) string { return strings.ReplaceAll(rolledRule, "$ROLLOUT", text) }

// gets has a Task say that it is ready with what it is told, or with something else.
func (w *world) gets(name, ready string) {
	w.t.Helper()
	w.update(w.resource("Task"), w.home, name, func(live *unstructured.Unstructured) {
		live.Object["status"] = map[string]any{"v": ready}
	}, "status")
}

// tasks are what the Tasks are told, in the order of their names.
func (w *world) tasks() string {
	w.t.Helper()
	list, err := w.at(w.resource("Task"), w.home).List(w.t.Context(), metav1.ListOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	var told []string
	for i := range list.Items {
		told = append(told, fmt.Sprint(field(&list.Items[i], "spec", "v")))
	}
	return strings.Join(told, " ")
}

func (w *world) wantTasks(want, when string) {
	w.t.Helper()
	w.quiet()
	if got := w.tasks(); got != want {
		w.t.Fatalf("%s, the Tasks have %q, want %q", when, got, want)
	}
}

// Items are made one after the other, updated from the last to the first, each when
// the one before is ready, and removed from the last on; over a restart.
func TestRolloutInOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Box", "Task")
	w.rule("rolled", rolling("order: OrderedReady"))
	stop := w.run()
	boxes, tasks := w.resource("Box"), w.resource("Task")
	w.parent("Box", "b", `{v: "1", items: [0, 1, 2]}`)
	w.await(tasks, w.home, "t-0", "is made", exists)
	w.wantTasks("1", "before the first is ready")
	w.gets("t-0", "1")
	w.await(tasks, w.home, "t-1", "is made", exists)
	w.gets("t-1", "1")
	w.await(tasks, w.home, "t-2", "is made", exists)
	w.gets("t-2", "1")
	w.await(boxes, w.home, "b", "is ready", isTrue("Ready"))

	from := w.requests.count()
	w.patch(boxes, w.home, "b", `{"spec":{"v":"2"}}`)
	w.await(tasks, w.home, "t-2", "is updated", has("2", "spec", "v"))
	says := w.await(boxes, w.home, "b", "says what it waits for", func(obj *unstructured.Unstructured) bool {
		return strings.Contains(conditionField(obj, "Reconciling", "message"), "waits for t-2")
	})
	if message := conditionField(says, "Reconciling", "message"); !strings.Contains(message, "child tasks: rollout: 2 of 3 items are still to be updated; waits for t-2: readyWhen: ") {
		t.Errorf("the condition says %q", message)
	}
	stop()
	stop = w.run()
	w.awaitLook("b")
	w.wantTasks("1 1 2", "before the last is ready, after a restart")

	// What is as it should be is put right, what is not yet is left alone.
	w.patch(tasks, w.home, "t-2", `{"spec":{"same":"y"}}`)
	w.await(tasks, w.home, "t-2", "is put right", has("x", "spec", "same"))
	w.gets("t-2", "2")
	w.await(tasks, w.home, "t-1", "is updated", has("2", "spec", "v"))
	w.wantTasks("1 2 2", "before the next is ready")

	// Another change reaches the one that is not ready first, which nobody has to wait for.
	w.patch(boxes, w.home, "b", `{"spec":{"v":"3"}}`)
	w.await(tasks, w.home, "t-1", "is updated", has("3", "spec", "v"))
	w.wantTasks("1 3 2", "before that is ready")
	w.gets("t-1", "3")
	w.await(tasks, w.home, "t-2", "is updated", has("3", "spec", "v"))
	w.gets("t-2", "3")
	w.await(tasks, w.home, "t-0", "is updated", has("3", "spec", "v"))
	w.gets("t-0", "3")
	w.await(boxes, w.home, "b", "is ready", isReadyAt)
	applied := 0 // a PUT that comes too late is followed by a patch
	for _, request := range w.requests.since(from) {
		if strings.HasPrefix(request, "PUT ") && strings.Contains(request, "/tasks/") {
			applied++
		}
	}
	if applied != 6 {
		t.Errorf("%d applies, want one for each of five updates and one for a drift", applied)
	}

	// They go from the last on, each when the one before is gone.
	w.patch(tasks, w.home, "t-2", `{"metadata":{"finalizers":["example.com/hold"]}}`)
	w.patch(boxes, w.home, "b", `{"spec":{"items":[0]}}`)
	w.await(tasks, w.home, "t-2", "is being deleted", func(obj *unstructured.Unstructured) bool { return obj.GetDeletionTimestamp() != nil })
	w.quiet()
	if obj := w.get(tasks, w.home, "t-1"); obj.GetDeletionTimestamp() != nil {
		t.Error("two are deleted at the same time")
	}
	w.patch(tasks, w.home, "t-2", `{"metadata":{"finalizers":null}}`)
	w.awaitGone(tasks, w.home, "t-1")
	w.wantTasks("3", "at the end")
	stop()
}

// Items below the partition stay as they are; as many as may be unavailable are updated
// at once; an item that fails is not followed by others, and the condition says so.
func TestRolloutInPart(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Box", "Task")
	w.rule("rolled", strings.Replace(rolledRule, "    rollout: {$ROLLOUT}\n", "", 1))
	stop := w.run()
	boxes, tasks := w.resource("Box"), w.resource("Task")
	w.parent("Box", "b", `{v: "1", items: [0, 1, 2, 3, 4]}`)
	for i := range 5 {
		w.await(tasks, w.home, fmt.Sprintf("t-%d", i), "is made", exists)
	}
	w.wantTasks("1 1 1 1 1", "before any is ready")
	for i := range 5 {
		w.gets(fmt.Sprintf("t-%d", i), "1")
	}
	w.await(boxes, w.home, "b", "is ready", isTrue("Ready"))
	w.patch(boxes, w.home, "b", `{"spec":{"max":"50%"}}`)
	w.await(boxes, w.home, "b", "is ready", isReadyAt)
	inPart := rolling(`maxUnavailable: "${parent.spec.max}", partition: 1`)
	w.rule("rolled", inPart)
	w.awaitRecord("rolled", w.revisionOf(inPart)) // nothing orders rules and parents: 2 could be there before the rollout

	w.patch(boxes, w.home, "b", `{"spec":{"v":"2"}}`)
	w.await(tasks, w.home, "t-3", "is updated", has("2", "spec", "v"))
	w.wantTasks("1 1 1 2 2", "while two are not ready")
	w.gets("t-4", "2")
	w.await(tasks, w.home, "t-2", "is updated", has("2", "spec", "v"))
	w.gets("t-2", "other")
	w.wantTasks("1 1 2 2 2", "while two are not ready again")
	w.gets("t-2", "2")
	w.await(tasks, w.home, "t-1", "is updated", has("2", "spec", "v"))
	w.gets("t-1", "2")
	w.gets("t-3", "2")
	w.await(boxes, w.home, "b", "is ready", isReadyAt)
	w.wantTasks("1 2 2 2 2", "at the end")

	// With one at a time, one that has failed stalls the parent.
	w.patch(boxes, w.home, "b", `{"spec":{"max":1,"v":"3"}}`)
	w.await(tasks, w.home, "t-4", "is updated", has("3", "spec", "v"))
	w.update(tasks, w.home, "t-4", func(live *unstructured.Unstructured) {
		live.Object["status"] = map[string]any{"conditions": []any{map[string]any{
			"type": "Stalled", "status": "True", "reason": "Broken", "message": "it is broken", "lastTransitionTime": "2026-01-01T00:00:00Z",
		}}}
	}, "status")
	stalled := w.await(boxes, w.home, "b", "is stalled", isTrue("Stalled"))
	if message := conditionField(stalled, "Stalled", "message"); conditionField(stalled, "Stalled", "reason") != "RolloutStalled" || !strings.Contains(message, "waits for t-4") {
		t.Errorf("the condition says %q", message)
	}
	w.wantTasks("1 2 2 2 3", "while it is stalled")
	// Back to what the others have.
	w.patch(boxes, w.home, "b", `{"spec":{"v":"2"}}`)
	w.await(tasks, w.home, "t-4", "goes back", has("2", "spec", "v"))
	w.gets("t-4", "2")
	w.await(boxes, w.home, "b", "is ready", isReadyAt)
	stop()
	from := w.requests.count()
	w.run()
	w.awaitLook("b")
	w.quiet()
	if got := writesIn(w.requests.since(from)); len(got) > 0 {
		t.Errorf("a restart writes %q", got)
	}
}

// Items that are created again are so one after the other.
func TestRolloutRecreates(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Box")
	w.rule("rolled", `
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: rolled}
spec:
  parent: {apiVersion: $GROUP/v1, kind: Box}
  children:
  - id: configs
    forEach: [{name: i, in: "${parent.spec.items}"}]
    updatePolicy: Recreate
    rollout: {}
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "c-${i}"}
      immutable: true
      data: {v: "${parent.spec.v}"}
`)
	w.run()
	boxes := w.resource("Box")
	w.parent("Box", "b", `{v: "1", items: [a, b, c]}`)
	w.await(boxes, w.home, "b", "is ready", isTrue("Ready"))
	w.quiet()
	from := w.requests.count()
	w.patch(boxes, w.home, "b", `{"spec":{"v":"2"}}`)
	for _, name := range []string{"c-c", "c-b", "c-a"} {
		w.await(configMaps, w.home, name, "is created again", has("2", "data", "v"))
	}
	w.await(boxes, w.home, "b", "is ready", isReadyAt)
	var order []string
	for _, request := range w.requests.since(from) {
		verb, path, _ := strings.Cut(request, " ")
		if strings.Contains(path, w.home+"/configmaps") {
			order = append(order, strings.TrimSpace(verb+" "+strings.TrimPrefix(path, "/api/v1/namespaces/"+w.home+"/configmaps")))
		}
	}
	want := "POST, DELETE /c-c, POST, POST, DELETE /c-b, POST, POST, DELETE /c-a, POST"
	got := strings.Join(order, ", ")
	for _, name := range []string{"c-c", "c-b", "c-a"} {
		// A look before the informer shows the end asks for it once more.
		for again := "DELETE /" + name + ", POST, DELETE /" + name; strings.Contains(got, again); {
			got = strings.ReplaceAll(got, again, "DELETE /"+name)
		}
	}
	if got != want {
		t.Errorf("requests: %s; want a dry run, an end and a beginning for each: %s", got, want)
	}
}

// What was made before there was a rollout, and has not had its turn, ends with its
// parent as everything else.
func TestRolloutOfWhatWasThereBefore(t *testing.T) {
	t.Parallel()
	const rule = `
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: rolled}
spec:
  parent: {apiVersion: $GROUP/v1, kind: Box}
  children:
  - id: configs
    forEach: [{name: i, in: "${parent.spec.items}"}]
    deletionPolicy: ${parent.spec.ending}
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "c-${i}"}
      data: {v: "1"}
`
	w := newWorld(t, "Box")
	w.rule("rolled", rule)
	w.run()
	boxes := w.resource("Box")
	w.parent("Box", "b", `{ending: Orphan, items: [a, b]}`)
	w.await(boxes, w.home, "b", "is ready", isTrue("Ready"))
	from := w.requests.count()
	w.rule("rolled", strings.NewReplacer("    deletionPolicy", "    rollout: {partition: 1}\n    deletionPolicy", `"1"`, `"2"`).Replace(rule))
	w.await(configMaps, w.home, "c-b", "is updated", has("2", "data", "v"))
	w.quiet()
	if got := field(w.get(configMaps, w.home, "c-a"), "data", "v"); got != "1" {
		t.Errorf("the one below the partition has %v", got)
	}
	for _, request := range w.requests.since(from) {
		if !strings.HasPrefix(request, "GET ") && strings.HasSuffix(request, "/configmaps/c-a") {
			t.Errorf("sent %s", request)
		}
	}
	w.patch(boxes, w.home, "b", `{"spec":{"ending":"Delete"}}`)
	w.delete(boxes, w.home, "b")
	w.awaitGone(configMaps, w.home, "c-a")
	w.awaitGone(configMaps, w.home, "c-b")
	w.awaitGone(boxes, w.home, "b")
}
