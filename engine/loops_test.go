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

// mostBeforePause is the most requests for one parent with one child before its loop is noticed: 210 rounds (maxRounds and
// roundsPerChild of package feedback), the first reconcile and the condition.
const mostBeforePause = 220

// countingRule counts a child up, from what it was before, as far as $MOST.
const countingRule = `
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: counting}
spec:
  parent: {apiVersion: $GROUP/v1, kind: Note}
  variables:
  - {name: last, value: "${observed.config == null ? 0 : int(observed.config.data.n)}"}
  children:
  - id: config
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${parent.metadata.name}"}
      data: {n: "${string(variables.last < $MOST ? variables.last + 1 : variables.last)}", text: "${parent.spec.text}"}
`

func counting(most int) string {
	return strings.ReplaceAll(countingRule, "$MOST", fmt.Sprint(most))
}

// A child that counts itself up without end is slowed down, and the parent says so; it heals with
// the rule. What takes its steps and comes to rest is not slowed down, and neither are changes
// that others make.
func TestChildThatCountsItself(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	w.rule("counting", counting(20))
	w.run()
	w.parent("Note", "n", "{text: a}")
	w.await(configMaps, w.home, "n", "has taken its steps", has("20", "data", "n"))
	for i := range 60 {
		w.patch(w.resource("Note"), w.home, "n", fmt.Sprintf(`{"spec":{"text":"b%d"}}`, i))
	}
	w.await(configMaps, w.home, "n", "follows", has("b59", "data", "text"))
	w.await(w.resource("Note"), w.home, "n", "is ready", isTrue("Ready"))
	if said := w.saidOf("n", "Loop"); len(said) > 0 {
		t.Fatalf("steps that end are a loop: %q", said)
	}

	w.rule("counting", counting(1_000_000))
	slowed := w.await(w.resource("Note"), w.home, "n", "is slowed down", func(obj *unstructured.Unstructured) bool {
		return conditionField(obj, "Stalled", "reason") == "Loop"
	})
	message := conditionField(slowed, "Stalled", "message")
	if want := fmt.Sprintf("(rule %s/counting for %s/n writes ConfigMap %s/n → rule %s/counting for %s/n)",
		w.kanon, w.home, w.home, w.kanon, w.home); !strings.Contains(message, want) {
		t.Errorf("the message lacks %q: %s", want, message)
	}
	// The pause is a second or more. A round is a write of the child and one of the status.
	if got, rounds := w.during(6*time.Second, time.Second); len(got) > 2*rounds {
		t.Errorf("%d requests in %d rounds: %q", len(got), rounds, got)
	}
	last := w.get(configMaps, w.home, "n")
	w.await(configMaps, w.home, "n", "goes on", func(obj *unstructured.Unstructured) bool { return field(obj, "data", "n") != field(last, "data", "n") })
	// Somebody else's change does not wait.
	w.patch(w.resource("Note"), w.home, "n", `{"spec":{"text":"last"}}`)
	w.await(configMaps, w.home, "n", "follows", has("last", "data", "text"))
	w.rule("counting", counting(20))
	w.await(w.resource("Note"), w.home, "n", "is ready", isTrue("Ready"))
	w.quiet()
}

// feedingRule computes a status from that of another parent.
const feedingRule = `
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: feeding}
spec:
  parent: {apiVersion: $GROUP/v1, kind: Note}
  lookups:
  - {id: other, apiVersion: $GROUP/v1, kind: Note, name: "${parent.spec.other}"}
  status: {n: "${(lookups.other.?status.?n.orValue(0) + 1) % 7}"}
`

// Two parents that compute from one another are slowed down, and each says by what
// way it comes back to it; it heals when one of them does not any more.
func TestParentsThatFeedOneAnother(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	w.rule("feeding", feedingRule)
	w.run(func(o *engine.Options) { o.RetryMax = time.Second })
	w.parent("Note", "a", "{other: b}")
	w.parent("Note", "b", "{other: a}")
	chain := fmt.Sprintf("rule %s/feeding for %s/a writes Note.%s %s/a → rule %s/feeding for %s/b writes Note.%s %s/b",
		w.kanon, w.home, w.group, w.home, w.kanon, w.home, w.group, w.home)
	stalled := w.await(w.resource("Note"), w.home, "a", "is stalled", isTrue("Stalled"))
	if message := conditionField(stalled, "Stalled", "message"); !strings.Contains(message, chain) {
		t.Errorf("the message lacks %q: %s", chain, message)
	}
	w.await(w.resource("Note"), w.home, "b", "is stalled", isTrue("Stalled"))
	if got, rounds := w.during(4*time.Second, time.Second); len(got) > 3*rounds {
		t.Errorf("%d requests in %d rounds: %q", len(got), rounds, got)
	}
	w.parent("Note", "c", "{other: c0}")
	w.patch(w.resource("Note"), w.home, "b", `{"spec":{"other":"c"}}`)
	for _, name := range []string{"a", "b"} {
		w.await(w.resource("Note"), w.home, name, "is not stalled", func(obj *unstructured.Unstructured) bool { return !isTrue("Stalled")(obj) })
	}
	w.quiet()
}

// A status that counts the generations of a parent without the status subresource is slowed down after as many writes as
// any other loop.
func TestStatusThatCountsGenerations(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	definition := w.definition("Note")
	delete(schemaOf(t, definition), "subresources")
	w.install(definition)
	w.rule("note", note("x")+"  status: {gen: \"${parent.metadata.generation}\"}\n")
	w.run()
	w.verdict("note", `"ready":true`)
	before := w.requests.count()
	w.parent("Note", "n", "{}")
	stalled := w.await(w.resource("Note"), w.home, "n", "is stalled", isTrue("Stalled"))
	if reason := conditionField(stalled, "Stalled", "reason"); reason != "Loop" {
		t.Errorf("it is stalled because of %s", reason)
	}
	if got := w.requests.since(before); len(got) > mostBeforePause {
		t.Errorf("%d requests before the first pause", len(got))
	}
	if got, rounds := w.during(4*time.Second, time.Second); len(got) > 2*rounds {
		t.Errorf("%d requests in %d rounds: %q", len(got), rounds, got)
	}
}

// A rule that creates ten parents for each parent ends at about a thousand, and the first one says so. A bounded line, of
// which the labels of the children do not meet the selector, is no such thing.
func TestRuleThatMultiplies(t *testing.T) {
	controlplanetest.Nightly(t)
	t.Parallel()
	w := newWorld(t, "Note")
	w.rule("multiplying", `
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: multiplying}
spec:
  parent: {apiVersion: $GROUP/v1, kind: Note, when: "${true}"}
  children:
  - id: more
    forEach: [{name: i, in: "${lists.range(10)}"}]
    readyWhen: ${true}
    template: {apiVersion: $GROUP/v1, kind: Note, metadata: {name: "${parent.metadata.name}-${i}"}, spec: {}}
`)
	w.run()
	w.parent("Note", "n", "{}")
	stalled := w.await(w.resource("Note"), w.home, "n", "is stalled", isTrue("Stalled"))
	if message := conditionField(stalled, "Stalled", "message"); !strings.Contains(message, "more than 1000 descendants") {
		t.Errorf("the message does not say why: %s", message)
	}
	w.quiet()
	list, err := w.at(w.resource("Note"), w.home).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(list.Items); n < 1000 || n > 1000+8*20 { // each worker may have begun one
		t.Errorf("there are %d Notes", n)
	}
}

// breedingRules make a Task of each Note, and a Note of each Task.
const breedingRules = `
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: notes}
spec:
  parent: {apiVersion: $GROUP/v1, kind: Note}
  children:
  - {id: task, template: {apiVersion: $GROUP/v1, kind: Task, metadata: {name: "${parent.metadata.name}-t"}, spec: {}}}
---
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: tasks}
spec:
  parent: {apiVersion: $GROUP/v1, kind: Task}
  children:
  - {id: note, template: {apiVersion: $GROUP/v1, kind: Note, metadata: {name: "${parent.metadata.name}-n"}, spec: {}}}
`

// Rules that make parents for one another end after some generations, and the last
// one says why.
func TestRulesThatBreed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note", "Task")
	w.rule("breeding", breedingRules)
	w.run()
	w.parent("Note", "n", "{}")
	last := "n" + strings.Repeat("-t-n", 16)
	stalled := w.await(w.resource("Note"), w.home, last, "is stalled", isTrue("Stalled"))
	message := conditionField(stalled, "Stalled", "message")
	for _, want := range []string{"16 generations", "by rule " + w.kanon + "/tasks", "by rule " + w.kanon + "/notes"} {
		if !strings.Contains(message, want) {
			t.Errorf("the message lacks %q: %s", want, message)
		}
	}
	w.quiet()
	list, err := w.at(w.resource("Note"), w.home).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Items) != 17 {
		t.Errorf("there are %d Notes", len(list.Items))
	}
}

// Two parents that patch one another with what they compute from what was patched are found.
func TestParentsThatPatchOneAnother(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note", "Task")
	const rule = `
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: FROM}
spec:
  parent: {apiVersion: $GROUP/v1, kind: FROM}
  patches:
  - id: count
    target: {apiVersion: $GROUP/v1, kind: TO, name: "${parent.metadata.name}", namespace: "${parent.metadata.namespace}"}
    template: {spec: {count: "${(parent.spec.count + 1) % 3}"}}
`
	notes := strings.NewReplacer("name: FROM", "name: notes", "FROM", "Note", "TO", "Task").Replace(rule)
	tasks := strings.NewReplacer("name: FROM", "name: tasks", "FROM", "Task", "TO", "Note").Replace(rule)
	w.texts("rules", map[string]string{"notes.yaml": notes, "tasks.yaml": tasks})
	w.run(func(o *engine.Options) { o.RetryMax = time.Second })
	w.verdict("rules", `"ready":true`)
	w.parent("Note", "x", "{count: 0}")
	w.parent("Task", "x", "{count: 0}")
	for _, kind := range []string{"Note", "Task"} {
		w.await(w.resource(kind), w.home, "x", "is in a loop", func(obj *unstructured.Unstructured) bool {
			return conditionField(obj, "Stalled", "reason") == "Loop"
		})
	}
	if got, rounds := w.during(4*time.Second, time.Second); len(got) > 6*rounds {
		t.Errorf("%d requests in %d rounds: %q", len(got), rounds, got)
	}
	w.texts("rules", map[string]string{"notes.yaml": notes})
	w.await(w.resource("Note"), w.home, "x", "is ready", isTrue("Ready"))
	w.quiet()
}
