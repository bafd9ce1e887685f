package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine"
	"kanon.dev/kanon/internal/controlplanetest"
)

// patientRetries makes the pauses of a loop as long as they are by default: a test of
// what is no loop does not end in time if it is taken for one.
func patientRetries(o *engine.Options) { o.RetryMax = 2 * time.Minute }

// awaitProgress is await that ends the test as soon as the parent of that name is said
// to be in a loop.
func (w *world) awaitProgress(kind, name, what string, holds func(*unstructured.Unstructured) bool) {
	w.t.Helper()
	looping := func(obj *unstructured.Unstructured) bool { return conditionField(obj, "Stalled", "reason") == "Loop" }
	last := w.await(w.resource(kind), w.home, name, what, func(obj *unstructured.Unstructured) bool {
		return holds(obj) || looping(obj)
	})
	if looping(last) {
		w.t.Fatalf("before %s %s %s, it counts as a loop: %s", kind, name, what, conditionField(last, "Stalled", "message"))
	}
	if said := w.saidOf(name, "Loop"); len(said) > 0 {
		w.t.Fatalf("%s %s was said to be in a loop: %q", kind, name, said)
	}
}

// orderedRule rolls ConfigMaps out one after the other. $POLICY stands for how they are
// updated.
const orderedRule = `
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: ordered}
spec:
  parent: {apiVersion: $GROUP/v1, kind: Box}
  children:
  - id: configs
    forEach: [{name: i, in: "${lists.range(parent.spec.count)}"}]
    rollout: {maxUnavailable: 1, order: OrderedReady}
    $POLICY
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${parent.metadata.name}-${i}"}
      data: {v: "${parent.spec.v}"}
`

// configsWith counts the ConfigMaps in the world's home that have a value of data.v.
func (w *world) configsWith(v string) int {
	w.t.Helper()
	list, err := w.at(configMaps, w.home).List(w.t.Context(), metav1.ListOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	count := 0
	for i := range list.Items {
		if field(&list.Items[i], "data", "v") == v {
			count++
		}
	}
	return count
}

// testRollout makes and updates so many items one after the other: that takes as many
// reconciles as there are items, each caused by the write of the one before.
func testRollout(t *testing.T, count int, policy string, versions ...string) {
	t.Helper()
	w := newWorld(t, "Box")
	w.rule("ordered", strings.ReplaceAll(orderedRule, "$POLICY", policy))
	w.run(patientRetries)
	for i, v := range versions {
		before := w.looks("b")
		if i == 0 {
			w.parent("Box", "b", fmt.Sprintf(`{v: %q, count: %d}`, v, count))
		} else {
			w.patch(w.resource("Box"), w.home, "b", fmt.Sprintf(`{"spec":{"v":%q}}`, v))
		}
		w.awaitProgress("Box", "b", "is rolled out with "+v, isReadyAt)
		if got := w.configsWith(v); got != count {
			t.Errorf("%d of %d ConfigMaps have %s", got, count, v)
		}
		// The reconcile that reports that it is done may not have ended.
		if looks := w.looks("b") - before; looks < count-1 || looks > 6*count+20 {
			t.Errorf("%d reconciles for %d items", looks, count)
		}
	}
}

// A rollout takes a reconcile for each item, and is no loop however many there are.
func TestRolloutOfManyItemsIsNoLoop(t *testing.T) {
	controlplanetest.Nightly(t)
	t.Parallel()
	testRollout(t, 60, "", "1", "2")
}

// A rollout that creates the items again is no loop either.
func TestRolloutThatRecreatesIsNoLoop(t *testing.T) {
	controlplanetest.Nightly(t)
	t.Parallel()
	for name, policy := range map[string]string{
		"by policy":    "updatePolicy: Recreate",
		"recreateWhen": "recreateWhen: ${self.data.v != parent.spec.v}",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testRollout(t, 40, policy, "1", "2")
		})
	}
}

// steppingRule keeps its state in the status, and goes on with the children that a step
// has made.
const steppingRule = `
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: stepping}
spec:
  parent: {apiVersion: $GROUP/v1, kind: Note}
  variables:
  - {name: step, value: "${parent.?status.step.orValue(0)}"}
  children:
  - id: configs
    forEach: [{name: i, in: "${lists.range(variables.step < 50 ? variables.step + 1 : 50)}"}]
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${parent.metadata.name}-${i}"}
  status: {step: "${observed.configs.size()}"}
`

// A state that is kept in the status, and of which each step comes with a child, is no loop.
func TestStateMachineInTheStatusIsNoLoop(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	w.rule("stepping", steppingRule)
	w.run(patientRetries)
	w.parent("Note", "n", "{}")
	stopped := func(obj *unstructured.Unstructured) bool { return isTrue("Stalled")(obj) }
	w.awaitProgress("Note", "n", "takes all steps", func(obj *unstructured.Unstructured) bool {
		return field(obj, "status", "step") == int64(50) || stopped(obj)
	})
	if last := w.get(w.resource("Note"), w.home, "n"); stopped(last) {
		t.Fatalf("it stalls at %v: %s", field(last, "status", "step"), conditionField(last, "Stalled", "message"))
	}
}

// pairRules are two rules that answer one another: the first asks in a Task, the second
// answers there. $ASK stands for what the first asks next.
const pairRules = `
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: asking}
spec:
  parent: {apiVersion: $GROUP/v1, kind: Note}
  variables:
  - {name: answered, value: "${observed.task == null ? 0 : observed.task.?spec.?answer.orValue(0)}"}
  children:
  - id: task
    template:
      apiVersion: $GROUP/v1
      kind: Task
      metadata: {name: "${parent.metadata.name}"}
      spec: {ask: "${$ASK}"}
  status: {answered: "${variables.answered}"}
---
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: answering}
spec:
  parent: {apiVersion: $GROUP/v1, kind: Task}
  patches:
  - id: answer
    template: {spec: {answer: "${parent.spec.ask}"}}
`

// Two rules that take fifty steps together are in no loop.
func TestStepsOfTwoRulesAreNoLoop(t *testing.T) {
	controlplanetest.Nightly(t)
	t.Parallel()
	w := newWorld(t, "Note", "Task")
	w.rule("pair", strings.ReplaceAll(pairRules, "$ASK", "variables.answered < 50 ? variables.answered + 1 : 50"))
	w.run(patientRetries)
	w.parent("Note", "n", "{}")
	w.awaitProgress("Note", "n", "has all answers", has(int64(50), "status", "answered"))
	w.awaitProgress("Task", "n", "is ready", isTrue("Ready"))
}

// Two rules that have a value go to and fro are found after some rounds.
func TestValueThatGoesToAndFroIsALoop(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note", "Task")
	w.rule("pair", strings.ReplaceAll(pairRules, "$ASK", "1 - variables.answered"))
	w.run()
	w.parent("Note", "n", "{}")
	// The Task may say so before, and then the child of the Note has failed.
	stalled := w.await(w.resource("Note"), w.home, "n", "is in a loop", func(obj *unstructured.Unstructured) bool {
		return conditionField(obj, "Stalled", "reason") == "Loop"
	})
	if message := conditionField(stalled, "Stalled", "message"); !strings.Contains(message, "caused by the one before") {
		t.Errorf("the message does not tell why: %s", message)
	}
	path := "/apis/" + w.group + "/v1/namespaces/" + w.home + "/tasks/n"
	asked := 0
	for _, request := range w.requests.since(0) {
		if request == "PUT "+path {
			asked++
		}
	}
	if asked > 400 {
		t.Errorf("it is found after %d questions", asked)
	}
}
