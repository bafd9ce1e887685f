package engine_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/engine"
)

// schemaOf is the schema of the one version of a definition; it may be changed.
func schemaOf(t *testing.T, definition *unstructured.Unstructured) map[string]any {
	t.Helper()
	version, ok := definition.Object["spec"].(map[string]any)["versions"].([]any)[0].(map[string]any)
	if !ok {
		t.Fatal("the definition has no version")
	}
	return version
}

// statusSchema is where a definition says what a status is.
func statusSchema(t *testing.T, definition *unstructured.Unstructured) map[string]any {
	t.Helper()
	status, found, err := unstructured.NestedFieldNoCopy(schemaOf(t, definition), "schema", "openAPIV3Schema", "properties", "status")
	if err != nil || !found {
		t.Fatalf("the definition has no status: %v", err)
	}
	return status.(map[string]any)
}

// Without a status subresource each write of a status is a new generation, which
// must not be a reason to write the status again.
func TestParentWithoutStatusSubresource(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	definition := w.definition("Note")
	delete(schemaOf(t, definition), "subresources")
	w.install(definition)
	w.rule("note", note("x")+"  status: {text: \"${children.config.data.text}\"}\n")
	w.run()
	w.parent("Note", "n", "{}")
	w.await(w.resource("Note"), w.home, "n", "is ready", isTrue("Ready"))
	w.await(w.resource("Note"), w.home, "n", "has the rule's status", has("x", "status", "text"))
	w.quiet()
}

// Conditions of older kinds have no observedGeneration, or have one and no reason.
func TestConditionsWithFewerFields(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	definition := w.definition("Note")
	status := statusSchema(t, definition)
	delete(status, "x-kubernetes-preserve-unknown-fields")
	status["properties"].(map[string]any)["text"] = map[string]any{"type": "string"}
	unstructured.RemoveNestedField(status, "properties", "conditions", "items", "properties", "observedGeneration")
	w.install(definition)
	w.rule("note", note("x")+"  status: {text: \"${children.config.data.text}\"}\n")
	w.run()
	w.parent("Note", "n", "{}")
	w.await(w.resource("Note"), w.home, "n", "has the rule's status", has("x", "status", "text"))
	w.await(w.resource("Note"), w.home, "n", "is ready", isTrue("Ready"))
	w.quiet()
}

// What a built-in kind's conditions say is not ours to say.
func TestBuiltInParentGetsNoConditions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.rule("note", strings.ReplaceAll(note("x"), "apiVersion: $GROUP/v1, kind: Note}", "apiVersion: v1, kind: Service, namespaces: [$HOME]}"))
	w.run()
	w.verdict("note", `"ready":true`)
	w.create(services, w.object("apiVersion: v1\nkind: Service\nmetadata: {name: s, namespace: $HOME}\nspec: {ports: [{port: 80}]}\n"))
	w.await(configMaps, w.home, "s", "is made", exists)
	w.quiet()
	if conditions := field(w.get(services, w.home, "s"), "status", "conditions"); conditions != nil {
		t.Errorf("the Service has conditions: %v", conditions)
	}
	for _, request := range w.requests.since(0) {
		if strings.HasPrefix(request, "PATCH") && strings.Contains(request, "/services/s") {
			t.Errorf("the Service was written to: %s", request)
		}
	}
}

// A status that the kind's schema refuses stalls the parent, and the parent says
// so; what its status said before stays.
func TestRefusedStatus(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	definition := w.definition("Note")
	status := statusSchema(t, definition)
	status["properties"].(map[string]any)["text"] = map[string]any{"type": "string", "maxLength": int64(5)}
	w.install(definition)
	w.rule("note", note(`"${parent.spec.text}"`)+"  status: {text: \"${parent.spec.text}\"}\n")
	w.run()
	w.parent("Note", "n", "{text: short}")
	w.await(w.resource("Note"), w.home, "n", "is ready", isTrue("Ready"))
	w.patch(w.resource("Note"), w.home, "n", `{"spec":{"text":"much too long"}}`)
	w.awaitEvent(w.home, "n", "Invalid")
	stalled := w.await(w.resource("Note"), w.home, "n", "is stalled", isTrue("Stalled"))
	if message := conditionField(stalled, "Stalled", "message"); !strings.Contains(message, "status.text") {
		t.Errorf("the message does not name the field: %s", message)
	}
	if text := field(stalled, "status", "text"); text != "short" {
		t.Errorf("status.text is %v, want what it was before", text)
	}
	w.patch(w.resource("Note"), w.home, "n", `{"spec":{"text":"brief"}}`)
	w.await(w.resource("Note"), w.home, "n", "is ready again", isTrue("Ready"))
}

// Conditions that a rule renders as part of its status stand beside Kanon's and
// beside those of others, also while they wait.
func TestConditionsInTheRulesStatus(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	w.rule("note", note("x")+`  status:
    conditions:
    - type: Answered
      status: ${children.config.data.answer}
`)
	w.run()
	w.parent("Note", "n", "{}")
	w.await(w.resource("Note"), w.home, "n", "is ready", isTrue("Ready"))
	w.patchStatus(w.resource("Note"), w.home, "n", `{"status":{"conditions":[{"type":"Foreign","status":"True"}]}}`)
	w.await(w.resource("Note"), w.home, "n", "is ready beside a foreign condition", func(obj *unstructured.Unstructured) bool {
		return isTrue("Ready")(obj) && isTrue("Foreign")(obj)
	})
	w.quiet()
	obj := w.get(w.resource("Note"), w.home, "n")
	for _, entry := range obj.GetManagedFields() {
		if strings.HasPrefix(entry.Manager, "kanon-status-") && strings.Contains(string(entry.FieldsV1.GetRawBytes()), "Foreign") {
			t.Errorf("the foreign condition was taken over: %s", entry.FieldsV1.GetRawBytes())
		}
	}
	w.patch(configMaps, w.home, "n", `{"data":{"answer":"True"}}`)
	w.await(w.resource("Note"), w.home, "n", "is answered", isTrue("Answered"))
	w.quiet()
	// The answer goes: the condition keeps its last value, and nothing else happens.
	w.patch(configMaps, w.home, "n", `{"data":{"answer":null,"more":"x"}}`)
	w.quiet()
	obj = w.get(w.resource("Note"), w.home, "n")
	for _, condition := range []string{"Ready", "Answered", "Foreign"} {
		if conditionStatus(obj, condition) != "True" {
			t.Errorf("condition %s is %q", condition, conditionStatus(obj, condition))
		}
	}
	if conditionStatus(obj, "Stalled") != "" {
		t.Errorf("the parent is stalled: %s", conditionField(obj, "Stalled", "message"))
	}
}

// patchStatus merges a JSON patch text into an object's status as another
// manager would.
func (w *world) patchStatus(gvr schema.GroupVersionResource, namespace, name, text string) {
	w.t.Helper()
	if err := w.merge(gvr, namespace, name, text, "status"); err != nil {
		w.t.Fatalf("patch the status of %s %s: %v", gvr.Resource, name, err)
	}
}

// A value that comes back from the API server in another form than it was sent
// in must not be sent again and again.
func TestStatusOfManyForms(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	w.rule("note", note("x")+`  status:
    whole: ${1.0}
    big: ${1.5e300}
    small: ${0.000001}
    uint: ${uint(7)}
    null: null
    emptyMap: {}
    emptyList: []
    emptyText: ""
    nested: "${[{'a': [], 'b': {}, 'c': 1.0}]}"
    nulls: "${{'a': dyn(null), 'b': 1}}"
    listOfNulls: "${[dyn(null), 1]}"
    bytes: ${b'abc'}
    "odd.key/with~things": x
`)
	w.run()
	w.parent("Note", "n", "{}")
	w.await(w.resource("Note"), w.home, "n", "is ready", isTrue("Ready"))
	w.await(w.resource("Note"), w.home, "n", "has the rule's status", has("", "status", "emptyText"))
	w.quiet()
}

// The time of a transition is that of the change of the condition's status, and of
// nothing else.
func TestTransitionTimes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	w.rule("note", note(`"${parent.spec.text}"`))
	clock := newHandClock()
	w.run(func(o *engine.Options) { o.Clock = clock })
	w.parent("Note", "n", "{}")
	first := w.await(w.resource("Note"), w.home, "n", "is stalled", isTrue("Stalled"))
	clock.advance()
	w.patch(w.resource("Note"), w.home, "n", `{"spec":{"other":"x"}}`)
	second := w.await(w.resource("Note"), w.home, "n", "is looked at again", func(obj *unstructured.Unstructured) bool {
		return conditionGeneration(obj, "Stalled") == obj.GetGeneration()
	})
	for _, condition := range []string{"Ready", "Stalled"} {
		if a, b := conditionField(first, condition, "lastTransitionTime"), conditionField(second, condition, "lastTransitionTime"); a != b {
			t.Errorf("%s went from %s to %s with no change of its status", condition, a, b)
		}
	}
	clock.advance()
	w.patch(w.resource("Note"), w.home, "n", `{"spec":{"text":"x"}}`)
	third := w.await(w.resource("Note"), w.home, "n", "is ready", isTrue("Ready"))
	if got, want := conditionField(third, "Ready", "lastTransitionTime"), clock.Now().UTC().Format(time.RFC3339); got != want {
		t.Errorf("Ready is true since %s, want %s", got, want)
	}
}

func conditionGeneration(obj *unstructured.Unstructured, conditionType string) int64 {
	conditions, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
	for _, item := range conditions {
		if c, ok := item.(map[string]any); ok && c["type"] == conditionType {
			generation, _ := c["observedGeneration"].(int64)
			return generation
		}
	}
	return 0
}

// handClock is a clock that is moved by hand.
type handClock struct{ seconds atomic.Int64 }

func newHandClock() *handClock {
	c := &handClock{}
	c.seconds.Store(1_800_000_000)
	return c
}

func (c *handClock) advance()                        { c.seconds.Add(60) }
func (c *handClock) Now() time.Time                  { return time.Unix(c.seconds.Load(), 0) }
func (c *handClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// A parent that the rule is for no more does not go on saying that it is ready.
func TestStatusIsReleased(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	w.rule("note", strings.ReplaceAll(note("x"), "kind: Note}", "kind: Note, when: \"${parent.spec.active}\"}")+
		"  status: {text: \"${children.config.data.text}\"}\n")
	w.run()
	w.parent("Note", "n", "{active: true}")
	w.await(w.resource("Note"), w.home, "n", "is ready", isTrue("Ready"))
	w.patchStatus(w.resource("Note"), w.home, "n", `{"status":{"foreign":"x"}}`)
	w.patch(w.resource("Note"), w.home, "n", `{"spec":{"active":false}}`)
	w.awaitGone(configMaps, w.home, "n")
	released := w.await(w.resource("Note"), w.home, "n", "has no condition of Kanon's", func(obj *unstructured.Unstructured) bool {
		return conditionStatus(obj, "Ready") == ""
	})
	if text := field(released, "status", "text"); text != nil {
		t.Errorf("status.text is still %v", text)
	}
	if foreign := field(released, "status", "foreign"); foreign != "x" {
		t.Errorf("status.foreign of another manager is %v", foreign)
	}
	w.quiet()
	w.patch(w.resource("Note"), w.home, "n", `{"spec":{"active":true}}`)
	w.await(w.resource("Note"), w.home, "n", "is ready again", isTrue("Ready"))
}

// A status that is one expression keeps what it said while the expression has no
// value; only the conditions go on.
func TestStatusThatHasNoValueStays(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	w.rule("note", note("x")+"  status: \"${has(parent.spec.on) ? {'text': parent.spec.on} : parent.spec.absent}\"\n")
	w.run()
	w.parent("Note", "held", "{\"on\": first}")
	w.await(w.resource("Note"), w.home, "held", "says so", has("first", "status", "text"))
	w.patch(w.resource("Note"), w.home, "held", `{"spec":{"on":null}}`)
	stalled := w.await(w.resource("Note"), w.home, "held", "is stalled", isTrue("Stalled"))
	if got := field(stalled, "status", "text"); got != "first" {
		t.Errorf("status.text is %v, want what it was", got)
	}
}

// The same holds while it is not known whether the rule is for the parent.
func TestStatusStaysWhileThePredicateFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	w.rule("note", strings.ReplaceAll(note("x"), "kind: Note}", "kind: Note, when: \"${parent.spec.active}\"}")+
		"  status: \"${{'text': children.config.data.text}}\"\n")
	w.run()
	w.parent("Note", "held", "{active: true}")
	w.await(w.resource("Note"), w.home, "held", "says so", has("x", "status", "text"))
	w.patch(w.resource("Note"), w.home, "held", `{"spec":{"active":null}}`)
	stalled := w.await(w.resource("Note"), w.home, "held", "is stalled", isTrue("Stalled"))
	if got := field(stalled, "status", "text"); got != "x" {
		t.Errorf("status.text is %v, want what it was", got)
	}
	w.get(configMaps, w.home, "held")
}
