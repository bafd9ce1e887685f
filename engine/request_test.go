package engine_test

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine"
	"kanon.dev/kanon/engine/conditions"
)

// request asks for a reconcile of a Note, and returns the value of the request.
func (w *world) request(name string, now time.Time) string {
	w.t.Helper()
	value := now.UTC().Format(time.RFC3339Nano)
	w.patch(w.resource("Note"), w.home, name, `{"metadata":{"annotations":{"kanon.dev/reconcile-at":"`+value+`"}}}`)
	return value
}

// awaitAnswer waits for the answer to a request for a reconcile of a Note.
func (w *world) awaitAnswer(name, value string) conditions.Answer {
	w.t.Helper()
	var answer conditions.Answer
	w.awaitAny(events, w.home, "involvedObject.name="+name+",reason="+conditions.ReasonReconciled, "there is an answer to "+value,
		func(*unstructured.Unstructured) bool { // there may be several
			for _, message := range w.saidOf(name, conditions.ReasonReconciled) {
				var ok bool
				if answer, ok = conditions.ParseAnswer(message); !ok {
					w.t.Errorf("no answer: %s", message)
				}
				if answer.Request == value {
					return true
				}
			}
			return false
		})
	return answer
}

// Each request is answered, also where a recorder of Events would drop what it is told: it takes 25 about one object.
func TestManyRequestsAreAnswered(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	w.rule("note", note("x"))
	w.run()
	w.parent("Note", "n", "{}")
	for i := range 30 {
		answer := w.awaitAnswer("n", w.request("n", time.Now()))
		if answer.Rule != w.kanon+"/note" {
			t.Fatalf("request %d: %+v", i, answer)
		}
	}
}

// A request gets one answer, which says what came of the reconcile. A value that nobody waits for gets none.
func TestRequestIsAnswered(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	w.rule("note", strings.ReplaceAll(note("x"), "kind: Note}", "kind: Note, when: \"${parent.spec.active}\"}"))
	w.run()
	for name, tt := range map[string]struct{ spec, outcome, message string }{
		"n": {"{active: true}", "Ready", "every child is up to date and ready"},
		"m": {"{active: false}", "NotSelected", "the rule does not select it"},
	} {
		w.parent("Note", name, tt.spec)
		value := w.request(name, time.Now())
		got := w.awaitAnswer(name, value)
		want := conditions.Answer{Rule: w.kanon + "/note", Request: value, Outcome: tt.outcome, Reason: tt.outcome, Message: tt.message}
		if got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
		second := w.request(name, time.Now())
		w.awaitAnswer(name, second)
		w.patch(w.resource("Note"), w.home, name, `{"spec":{"other":"x"}}`) // which asks for nothing
		w.quiet()
		w.patch(w.resource("Note"), w.home, name, `{"metadata":{"annotations":{"kanon.dev/reconcile-at":"now"}}}`)
		w.request(name, time.Now().Add(-time.Hour))
		w.quiet()
		if said := w.saidOf(name, conditions.ReasonReconciled); len(said) != 2 {
			t.Errorf("%d answers to two requests: %q", len(said), said)
		}
	}
}

// A request ends the pause of a field in conflict, in a child and in the target of a patch. The clock does not move.
func TestRequestEndsAConflict(t *testing.T) {
	t.Parallel()
	const shared = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: shared, namespace: $HOME}\ndata: {color: none}\n"
	patch := patchRule(`
- id: color
  target: {apiVersion: v1, kind: ConfigMap, name: shared, namespace: "${parent.metadata.namespace}"}
  template: {data: {color: red}}`)
	for name, tt := range map[string]struct{ rule, object string }{
		"child": {contestedRule, "n"},
		"patch": {patch, "shared"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "Note")
			w.rule("r", tt.rule)
			w.create(configMaps, w.object(shared))
			clock := newHandClock()
			w.run(func(o *engine.Options) { o.Clock = clock })
			w.parent("Note", "n", "{color: red}")
			w.await(configMaps, w.home, tt.object, "is the rule's", has("red", "data", "color"))
			stop := w.paint(tt.object, "blue")
			stalled := w.await(w.resource("Note"), w.home, "n", "is stalled", isTrue("Stalled"))
			if reason := conditionField(stalled, "Stalled", "reason"); reason != "Contested" {
				t.Errorf("the reason is %q", reason)
			}
			w.quiet() // in the pause
			stop()
			w.request("n", clock.Now())
			w.await(configMaps, w.home, tt.object, "is the rule's again", has("red", "data", "color"))
			w.await(w.resource("Note"), w.home, "n", "is ready", isTrue("Ready"))
		})
	}
}
