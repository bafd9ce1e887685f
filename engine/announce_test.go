package engine_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// saidOf lists what Events with a reason about an object in the world's home say,
// as often as they were emitted.
func (w *world) saidOf(name, reason string) []string {
	w.t.Helper()
	list, err := w.client.Resource(events).Namespace(w.home).List(w.t.Context(), metav1.ListOptions{
		FieldSelector: "involvedObject.name=" + name + ",reason=" + reason,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	var said []string
	for _, event := range list.Items {
		count, _, _ := unstructured.NestedInt64(event.Object, "count")
		message, _, _ := unstructured.NestedString(event.Object, "message")
		said = append(said, slices.Repeat([]string{message}, int(count))...)
	}
	slices.Sort(said)
	return said
}

// awaitLit waits until the Events Lit about an object say that, as often as it is
// given, and nothing else.
func (w *world) awaitLit(name string, want ...string) {
	w.t.Helper()
	const reason = "Lit"
	slices.Sort(want)
	w.awaitAny(events, w.home, "involvedObject.name="+name+",reason="+reason,
		"the Events "+reason+" about "+name+" are "+strings.Join(want, ", "), func(*unstructured.Unstructured) bool {
			return slices.Equal(w.saidOf(name, reason), want)
		})
}

// awaitNextSecond waits until objects that were made before can be told by their
// creationTimestamps, which are whole seconds, from what is made after.
func awaitNextSecond() {
	now := time.Now()
	<-time.After(now.Truncate(time.Second).Add(time.Second).Sub(now))
}

const tellingRule = `
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: telling}
spec:
  parent: {apiVersion: $GROUP/v1, kind: Note}
  status: {color: "${parent.spec.color}"}
  events:
  - {when: "${parent.spec.?lit.orValue(false)}", type: Warning, reason: Lit, message: "it is ${status.color}"}
`

// An event is told when its when turns true and when its text changes, and not at
// rest, and not again after a restart. Of a parent that was there before the rule,
// what holds at first is not told.
func TestEventsOfTheRule(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	w.parent("Note", "old", "{color: red, lit: true}")
	awaitNextSecond()
	w.rule("telling", tellingRule)
	stop := w.run()
	w.verdict("telling", `"ready":true`)
	w.await(w.resource("Note"), w.home, "old", "is looked at", has("red", "status", "color"))

	w.parent("Note", "new", "{color: red, lit: true}")
	w.awaitLit("new", "it is red")
	w.patch(w.resource("Note"), w.home, "new", `{"spec":{"color":"blue"}}`)
	w.awaitLit("new", "it is blue", "it is red")
	w.patch(w.resource("Note"), w.home, "new", `{"spec":{"other":"x"}}`)
	w.patch(w.resource("Note"), w.home, "old", `{"spec":{"other":"x"}}`)
	w.quiet()
	w.patch(w.resource("Note"), w.home, "new", `{"spec":{"lit":false}}`)
	w.await(w.resource("Note"), w.home, "new", "is out", func(obj *unstructured.Unstructured) bool {
		return conditionGeneration(obj, "Ready") == obj.GetGeneration()
	})
	w.patch(w.resource("Note"), w.home, "new", `{"spec":{"lit":true}}`)
	w.awaitLit("new", "it is blue", "it is blue", "it is red")
	if said := w.saidOf("old", "Lit"); len(said) > 0 {
		t.Errorf("what held before the rule was there is told: %q", said)
	}
	w.patch(w.resource("Note"), w.home, "old", `{"spec":{"color":"green"}}`)
	w.awaitLit("old", "it is green")

	stop()
	awaitNextSecond()
	from := w.requests.count()
	w.run()
	w.parent("Note", "first", "{color: red}")
	w.await(w.resource("Note"), w.home, "first", "shows that the rule was started", has("red", "status", "color"))
	w.parent("Note", "marker", "{color: red, lit: true}")
	w.awaitLit("marker", "it is red")
	w.quiet()
	for _, request := range w.requestsAtHome(from) {
		if strings.Contains(request, "/events") && strings.HasPrefix(request, "PATCH") {
			t.Errorf("an Event was told again: %s", request)
		}
	}
	w.awaitLit("new", "it is blue", "it is blue", "it is red")
	w.awaitLit("old", "it is green")
}

const farewellRule = `
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: farewell}
spec:
  parent: {apiVersion: $GROUP/v1, kind: Note}
  children:
  - id: claim
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${parent.metadata.name}-claim"}
  variables: [{name: going, value: "${finalizing}"}]
  status: {phase: "${finalizing ? 'Going' : 'Up'}"}
  conditions:
  - {type: Serving, status: "${!finalizing}", reason: AsPlanned}
  events:
  - {when: "${finalizing}", reason: Bye, message: "bye ${parent.metadata.name}"}
  - {when: "${variables.going}", reason: Gone, message: "was ${status.phase}"}
  - {when: "${parent.metadata.name != ''}", reason: Lit, message: "lit"}
  finalize: {until: "${parent.spec.?until.orValue(true)}"}
`

// What a rule says while it finalizes is told once before the parent is deleted, also if until holds at once, and if Kanon is
// away when the deletion begins.
func TestEventsOfADeletion(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	w.rule("farewell", farewellRule)
	notes := w.resource("Note")
	stop := w.run()
	w.verdict("farewell", `"ready":true`)
	once := func(name string) {
		t.Helper()
		w.awaitEvent(w.home, name, "Bye")
		w.awaitEvent(w.home, name, "Gone")
		for reason, want := range map[string]string{"Bye": "bye " + name, "Gone": "was Going", "Lit": "lit"} {
			if said := w.saidOf(name, reason); !slices.Equal(said, []string{want}) {
				t.Errorf("%s: the Events %s are %q, want one", name, reason, said)
			}
		}
	}
	for name, spec := range map[string]string{"red": "{}", "held": "{}", "slow": "{until: false}", "away": "{}"} {
		w.parent("Note", name, spec)
		w.await(notes, w.home, name, "is ready", isTrue("Ready"))
		w.awaitEvent(w.home, name, "Lit")
	}
	w.delete(notes, w.home, "red")
	w.awaitGone(notes, w.home, "red")
	once("red")

	w.patch(configMaps, w.home, "held-claim", inUse)
	for _, name := range []string{"held", "slow"} {
		w.delete(notes, w.home, name)
		w.await(notes, w.home, name, "says that it goes", func(obj *unstructured.Unstructured) bool {
			return field(obj, "status", "phase") == "Going" && conditionField(obj, "Serving", "status") == "False"
		})
		once(name)
	}

	stop()
	w.delete(notes, w.home, "away")
	awaitNextSecond()
	w.run()
	w.awaitGone(notes, w.home, "away")
	once("away")
	w.awaitLook("slow")
	w.quiet()
	once("slow") // and not again after a restart
	w.patch(notes, w.home, "slow", `{"spec":{"until":true}}`)
	w.awaitGone(notes, w.home, "slow")
	w.patch(configMaps, w.home, "held-claim", unused)
	w.awaitGone(notes, w.home, "held")
	w.quiet()
	for _, name := range []string{"held", "slow", "away"} {
		once(name)
	}
}
