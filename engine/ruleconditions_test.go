package engine_test

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine"
)

const conditionsRule = `
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: conditions}
spec:
  parent: {apiVersion: $GROUP/v1, kind: Note}
  children:
  - id: config
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${parent.metadata.name}"}
  conditions:
  - {type: Lit, status: "${parent.spec.lit}", reason: Asked, message: "asked for by ${parent.spec.by}"}
  - {type: Answered, status: "${children.config.data.answer == 'yes'}"}
`

// Conditions of the rule stand beside Kanon's: their transitions are those of the
// status, one that waits stays as it is, and one that another manager has is left
// to it.
func TestConditionsOfTheRule(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	w.rule("conditions", conditionsRule)
	clock := newHandClock()
	stop := w.run(func(o *engine.Options) { o.Clock = clock })
	w.parent("Note", "n", "{lit: true, by: one}")
	lit := w.await(w.resource("Note"), w.home, "n", "is lit and ready", func(obj *unstructured.Unstructured) bool {
		return isTrue("Lit")(obj) && isTrue("Ready")(obj)
	})
	if conditionStatus(lit, "Answered") != "" {
		t.Error("a condition that waits is there")
	}
	if got := conditionGeneration(lit, "Lit"); got != lit.GetGeneration() {
		t.Errorf("Lit is of generation %d, want %d", got, lit.GetGeneration())
	}

	clock.advance()
	w.patch(w.resource("Note"), w.home, "n", `{"spec":{"by":"two"}}`)
	by := w.await(w.resource("Note"), w.home, "n", "says by whom", func(obj *unstructured.Unstructured) bool {
		return conditionField(obj, "Lit", "message") == "asked for by two"
	})
	if a, b := conditionField(lit, "Lit", "lastTransitionTime"), conditionField(by, "Lit", "lastTransitionTime"); a != b {
		t.Errorf("the transition went from %s to %s with no change of the status", a, b)
	}
	w.patch(w.resource("Note"), w.home, "n", `{"spec":{"lit":false}}`)
	out := w.await(w.resource("Note"), w.home, "n", "is out", func(obj *unstructured.Unstructured) bool {
		return conditionStatus(obj, "Lit") == "False"
	})
	if got, want := conditionField(out, "Lit", "lastTransitionTime"), clock.Now().UTC().Format(time.RFC3339); got != want {
		t.Errorf("the transition was at %s, want %s", got, want)
	}

	w.patch(configMaps, w.home, "n", `{"data":{"answer":"yes"}}`)
	w.await(w.resource("Note"), w.home, "n", "is answered", isTrue("Answered"))
	w.patch(configMaps, w.home, "n", `{"data":{"answer":null}}`)
	w.quiet()
	if held := w.get(w.resource("Note"), w.home, "n"); !isTrue("Answered")(held) {
		t.Error("a condition that waits again did not stay")
	}

	stop()
	from := w.requests.count()
	w.run()
	w.awaitLook("n")
	w.quiet()
	for _, request := range w.requestsAtHome(from) {
		if !strings.HasPrefix(request, "GET ") {
			t.Errorf("a restart with all in place wrote: %s", request)
		}
	}
}

// A condition that another manager has is never taken.
func TestConditionsOfOthersAreLeft(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	w.rule("conditions", conditionsRule)
	w.parent("Note", "n", "{lit: true, by: one}")
	w.patchStatus(w.resource("Note"), w.home, "n", `{"status":{"conditions":[{"type":"Lit","status":"Unknown","reason":"Theirs"}]}}`)
	w.run()
	w.await(w.resource("Note"), w.home, "n", "is ready", isTrue("Ready"))
	w.quiet()
	if got := conditionField(w.get(w.resource("Note"), w.home, "n"), "Lit", "reason"); got != "Theirs" {
		t.Errorf("the reason of another manager's condition is %q", got)
	}
}

// Where conditions cannot be written, one Event says so.
func TestKindsThatTakeNoConditions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	bare, atomic := w.definition("Bare"), w.atomicDefinition("Atomic")
	unstructured.RemoveNestedField(statusSchema(t, bare), "properties", "conditions")
	w.install(bare)
	w.install(atomic)
	w.rule("bare", strings.NewReplacer("{name: conditions}", "{name: bare}", "kind: Note", "kind: Bare").Replace(conditionsRule))
	w.rule("atomic", strings.NewReplacer("name: note", "name: atomic", "kind: Note", "kind: Atomic").Replace(note("x"))+
		"  status: {conditions: [{type: Whole, status: \"True\"}]}\n")
	w.rule("service", strings.NewReplacer("{name: conditions}", "{name: service}",
		"apiVersion: $GROUP/v1, kind: Note}", "apiVersion: v1, kind: Service, namespaces: [$HOME]}",
		"${parent.spec.lit}", "True", "${parent.spec.by}", "x").Replace(conditionsRule))
	w.run()
	for _, name := range []string{"bare", "atomic", "service"} {
		w.verdict(name, `"ready":true`)
	}
	w.parent("Bare", "b", "{lit: true, by: one}")
	w.parent("Atomic", "a", "{lit: true, by: one}")
	w.create(services, w.object("apiVersion: v1\nkind: Service\nmetadata: {name: s, namespace: $HOME}\nspec: {ports: [{port: 80}]}\n"))
	for name, why := range map[string]string{"b": "has no conditions", "a": "sets the list as a whole", "s": "built into Kubernetes"} {
		w.awaitEvent(w.home, name, "NoConditions")
		w.await(configMaps, w.home, name, "is made all the same", exists)
		if said := w.saidOf(name, "NoConditions"); len(said) != 1 || !strings.Contains(said[0], why) {
			t.Errorf("of %s is said %q, want one Event with %q", name, said, why)
		}
	}
	w.patch(w.resource("Bare"), w.home, "b", `{"spec":{"by":"two"}}`)
	w.parent("Bare", "b2", "{lit: true, by: one}")
	w.await(configMaps, w.home, "b2", "is made", exists)
	w.quiet()
	if said := append(w.saidOf("b", "NoConditions"), w.saidOf("b2", "NoConditions")...); len(said) != 1 {
		t.Errorf("it is said again: %q", said)
	}
}
