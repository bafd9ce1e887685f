package engine_test

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine"
)

const pacedRule = `
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: paced}
spec:
  parent: {apiVersion: $GROUP/v1, kind: Note}
  $PACE
  status: {text: "${parent.spec.?text.orValue('')}", at: "${now}"}
`

func paced(pace string) string { return strings.ReplaceAll(pacedRule, "$PACE", pace) }

// What is made of now is written when requeueAfter says so, and at no other time:
// not when something else changes, and not at rest.
func TestRequeueAfter(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	w.rule("paced", paced("requeueAfter: 2s"))
	clock := newHandClock()
	w.run(func(o *engine.Options) { o.Clock = clock })
	w.parent("Note", "n", "{text: one}")
	first := clock.Now().UTC().Format(time.RFC3339)
	w.await(w.resource("Note"), w.home, "n", "says when", has(first, "status", "at"))

	w.quiet() // the wake comes every two seconds, and finds that nothing is due
	from := w.requests.count()
	w.patch(w.resource("Note"), w.home, "n", `{"spec":{"text":"two"}}`)
	two := w.await(w.resource("Note"), w.home, "n", "says two", has("two", "status", "text"))
	if at := field(two, "status", "at"); at != first {
		t.Errorf("the time was written with the change: %v, want %s", at, first)
	}
	if got := w.requestsAtHome(from); len(got) != 1 {
		t.Errorf("%d requests, want one for the status: %q", len(got), got)
	}

	clock.advance()
	w.await(w.resource("Note"), w.home, "n", "says when it was due", has(clock.Now().UTC().Format(time.RFC3339), "status", "at"))
	w.quiet()
}

const recordingRule = `
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: recording}
spec:
  parent: {apiVersion: $GROUP/v1, kind: Note}
  variables:
  - {name: past, value: "${parent.?status.history.orValue([])}"}
  - {name: isRecorded, value: "${variables.past.exists(h, h.text == parent.spec.text)}"}
  status:
    history: >-
      ${variables.isRecorded ? variables.past
        : variables.past + [{"text": parent.spec.text, "at": truncate(now, duration("1s"))}]}
`

// The time at which something happened is recorded as it was then, and never changes, as docs/reference/state.md shows.
func TestRecordOfWhenSomethingHappened(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	w.rule("recording", recordingRule)
	clock := newHandClock()
	w.run(func(o *engine.Options) { o.Clock = clock })
	w.parent("Note", "n", "{text: zero}")
	var want []any
	for i, text := range []string{"zero", "one", "two", "three"} {
		if i > 0 {
			clock.advance()
			w.patch(w.resource("Note"), w.home, "n", `{"spec":{"text":"`+text+`"}}`)
		}
		want = append(want, map[string]any{"text": text, "at": clock.Now().UTC().Format(time.RFC3339)})
		w.await(w.resource("Note"), w.home, "n", "has recorded "+text, func(obj *unstructured.Unstructured) bool {
			return reflect.DeepEqual(field(obj, "status", "history"), want)
		})
	}
	clock.advance()
	w.patch(w.resource("Note"), w.home, "n", `{"spec":{"other":"x"}}`)
	w.awaitLook("n")
	w.quiet()
	if history := field(w.get(w.resource("Note"), w.home, "n"), "status", "history"); !reflect.DeepEqual(history, want) {
		t.Errorf("the history is %v, want %v", history, want)
	}
}

// A burst of changes makes one reconcile at once and one at the end, and the last
// change is not lost.
func TestMinInterval(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	w.rule("paced", strings.ReplaceAll(paced("minInterval: 3s"), `, at: "${now}"`, ""))
	w.run()
	w.parent("Note", "n", "{text: one}")
	w.await(w.resource("Note"), w.home, "n", "says one", has("one", "status", "text"))
	w.quiet()
	<-time.After(3 * time.Second) // the interval, which the look at the own write may have begun

	from := w.requests.count()
	begin := time.Now()
	for i := range 50 {
		w.patch(w.resource("Note"), w.home, "n", fmt.Sprintf(`{"spec":{"text":"%d"}}`, i))
	}
	w.await(w.resource("Note"), w.home, "n", "says the last", has("49", "status", "text"))
	took := time.Since(begin)
	w.quiet()
	// One at once, and one for each interval that has passed since.
	if got, most := len(w.requestsAtHome(from)), 1+int(took/(3*time.Second)); got > most {
		t.Errorf("%d writes, want %d at the most: %q", got, most, w.requestsAtHome(from))
	}
}

// A rule that is changed, and a parent that is gone, have nothing to wait for.
func TestMinIntervalOfAnotherRevision(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	hour := strings.ReplaceAll(paced("minInterval: 1h"), `, at: "${now}"`, "")
	w.rule("paced", hour)
	w.run()
	w.parent("Note", "n", "{text: one}")
	w.await(w.resource("Note"), w.home, "n", "says one", has("one", "status", "text"))
	w.rule("paced", strings.ReplaceAll(hour, "text:", "word:"))
	w.await(w.resource("Note"), w.home, "n", "follows the rule", has("one", "status", "word"))
	w.delete(w.resource("Note"), w.home, "n")
	w.awaitGone(w.resource("Note"), w.home, "n")
	w.parent("Note", "n", "{text: two}")
	w.await(w.resource("Note"), w.home, "n", "says two", has("two", "status", "word"))
}

// Parents that wait for a time cost nothing until then.
func TestTimersAtRest(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	w.rule("paced", paced("requeueAfter: 1h"))
	w.run()
	const parents = 20
	for i := range parents {
		w.parent("Note", "n"+strconv.Itoa(i), "{text: one}")
	}
	w.awaitAllReady()
	w.quiet()
	before := w.looks("n0")
	w.quiet()
	if after := w.looks("n0"); after != before {
		t.Errorf("a parent at rest was looked at %d times", after-before)
	}
}

// A counter in the status, which other writers of the parent get in the way of,
// counts each change once.
func TestCounterInTheStatus(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	w.rule("counting", `
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: counting}
spec:
  parent: {apiVersion: $GROUP/v1, kind: Note}
  status:
    steps: >-
      ${parent.spec.target > parent.?status.?steps.orValue(0) && parent.?status.?seen.orValue('') != parent.spec.turn
      ? parent.?status.?steps.orValue(0) + 1 : parent.?status.?steps.orValue(0)}
    seen: ${parent.spec.turn}
`)
	w.run()
	w.parent("Note", "n", "{target: 1000, turn: t0}")
	w.await(w.resource("Note"), w.home, "n", "is at one", has(int64(1), "status", "steps"))
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range 100 { // foreign writes, of the status and of the rest
			text := fmt.Sprintf(`{"metadata":{"annotations":{"noise":"%d"}}}`, i)
			if err := errors.Join(w.merge(w.resource("Note"), w.home, "n", text),
				w.merge(w.resource("Note"), w.home, "n", fmt.Sprintf(`{"status":{"noise":"%d"}}`, i), "status")); err != nil {
				t.Error(err)
			}
		}
	}()
	for i := 1; i <= 20; i++ {
		turn := "t" + strconv.Itoa(i)
		w.patch(w.resource("Note"), w.home, "n", `{"spec":{"turn":"`+turn+`"}}`)
		seen := w.await(w.resource("Note"), w.home, "n", "has seen "+turn, has(turn, "status", "seen"))
		if got := field(seen, "status", "steps"); got != int64(i+1) {
			t.Fatalf("after turn %d there are %v steps, want %d", i, got, i+1)
		}
	}
	<-done
	w.await(w.resource("Note"), w.home, "n", "is ready", isTrue("Ready"))
	w.quiet()
	if got := field(w.get(w.resource("Note"), w.home, "n"), "status", "steps"); got != int64(21) {
		t.Errorf("in the end there are %v steps, want 21", got)
	}
}

// A status that asks for another one each time it is written is slowed down. A change by somebody else does not wait, and
// the loop ends when the status comes to rest.
func TestStatusThatNeverRests(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	w.rule("endless", `
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: endless}
spec:
  parent: {apiVersion: $GROUP/v1, kind: Note}
  status:
    text: ${parent.spec.text}
    steps: "${parent.spec.text == 'calm' ? 0 : parent.?status.?steps.orValue(0) + 1}"
`)
	w.run()
	w.parent("Note", "n", "{text: a}")
	stalled := w.await(w.resource("Note"), w.home, "n", "is stalled", isTrue("Stalled"))
	if steps, _ := field(stalled, "status", "steps").(int64); steps < 200 || steps > 210 {
		t.Errorf("it took %d steps until it was slowed down, want 200", steps)
	}
	if got, rounds := w.during(4*time.Second, time.Second); len(got) > 2*rounds {
		t.Errorf("%d requests in %d rounds: %q", len(got), rounds, got)
	}
	w.patch(w.resource("Note"), w.home, "n", `{"spec":{"text":"b"}}`)
	w.await(w.resource("Note"), w.home, "n", "follows", has("b", "status", "text"))
	w.patch(w.resource("Note"), w.home, "n", `{"spec":{"text":"calm"}}`)
	w.await(w.resource("Note"), w.home, "n", "is ready", isTrue("Ready"))
	w.quiet()
}
