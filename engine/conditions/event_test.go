package conditions

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/rules/program"
)

// A parent that waits gets an Event once it has waited for the limit, and another one when the reason changes, but not sooner
// than the limit after the one before.
func TestWait(t *testing.T) {
	t.Parallel()
	const limit = time.Minute
	type step struct {
		after  time.Duration
		uid    types.UID
		reason string // empty: the parent does not wait
		due    bool
		again  time.Duration
	}
	for name, steps := range map[string][]step{
		"short": {
			{0, "a", "Waiting", false, limit},
			{59 * time.Second, "a", "Waiting", false, time.Second},
			{0, "", "", false, 0},
			{time.Hour, "a", "Waiting", false, limit},
		},
		"long": {
			{0, "a", "Waiting", false, limit}, {limit, "a", "Waiting", true, 0}, {time.Hour, "a", "Waiting", false, 0},
		},
		"for one thing after the other": {
			{0, "a", "KindMissing", false, limit},
			{30 * time.Second, "a", "Waiting", false, 30 * time.Second},
			{30 * time.Second, "a", "Waiting", true, 0},
			{10 * time.Second, "a", "Progressing", false, 50 * time.Second},
			{50 * time.Second, "a", "Progressing", true, 0},
			{time.Hour, "a", "Waiting", true, 0},
		},
		"of a parent that is another one": {
			{0, "a", "Waiting", false, limit}, {limit, "b", "Waiting", false, limit}, {limit, "b", "Waiting", true, 0},
		},
		"with a clock that is set back": {
			{0, "a", "Waiting", false, limit}, {-time.Hour, "a", "Waiting", false, limit},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var w Wait
			now := time.Unix(1_800_000_000, 0)
			for i, s := range steps {
				now = now.Add(s.after)
				if s.reason == "" {
					w = Wait{}
					continue
				}
				if due, after := w.IsDue(s.uid, s.reason, now, limit); due != s.due || after != s.again {
					t.Errorf("step %d: an Event: %t, again after %s; want %t, %s", i, due, after, s.due, s.again)
				}
			}
		})
	}
}

// An Event about what stalls a parent is due once for each reason and message.
func TestNotice(t *testing.T) {
	t.Parallel()
	type step struct {
		uid     types.UID
		summary Summary
		has     string // the message of the condition that the parent has
		due     bool
	}
	refused := Summary{Type: Stalled, Reason: ReasonInvalid, Message: "refused"}
	for name, steps := range map[string][]step{
		"once":                      {{"a", refused, "", true}, {"a", refused, "refused", false}},
		"another message":           {{"a", refused, "", true}, {"a", Summary{Stalled, ReasonInvalid, "refused again"}, "refused", true}},
		"after it was ready":        {{"a", refused, "", true}, {"a", Summary{Type: Ready}, "", false}, {"a", refused, "", true}},
		"created again":             {{"a", refused, "", true}, {"b", refused, "", true}, {"b", refused, "refused", false}},
		"said before a restart":     {{"a", refused, "refused", false}, {"a", refused, "refused", false}},
		"another one after restart": {{"a", refused, "not refused", true}},
		"a timeout, with what it waits for": {
			{"a", Summary{Stalled, ReasonFinalizeTimeout, "waits for a"}, "", true},
			{"a", Summary{Stalled, ReasonFinalizeTimeout, "waits for b"}, "waits for a", false},
			{"a", refused, "waits for b", true},
			{"a", Summary{Stalled, ReasonFinalizeTimeout, "waits for a"}, "refused", true},
		},
		"under way": {{"a", Summary{Type: Reconciling, Reason: ReasonWaiting}, "", false}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var n Notice
			for i, s := range steps {
				parent := &unstructured.Unstructured{Object: map[string]any{}}
				if s.has != "" {
					parent.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "WebStalled", "message": s.has}}}
				}
				parent.SetUID(s.uid)
				if got := n.IsDue(parent, "Web", s.summary); got != s.due {
					t.Errorf("step %d: an Event is due: %t, want %t", i, got, s.due)
				}
			}
		})
	}
}

// One of spec.events is emitted when its when turns true and when its text changes, but not for what was so before the rule.
func TestEmitted(t *testing.T) {
	t.Parallel()
	on := func(message string) program.Event {
		return program.Event{State: program.EventOn, Message: message}
	}
	final := func(message string) program.Event {
		return program.Event{State: program.EventOn, Message: message, Finalizing: true}
	}
	off, unknown := program.Event{State: program.EventOff}, program.Event{State: program.EventUnknown}
	tests := map[string]struct {
		isOld    bool
		rendered []program.Event
		want     []string // the messages, empty: no Event
	}{
		"on from the start":            {false, []program.Event{on("up"), on("up")}, []string{"up", ""}},
		"on before the rule":           {true, []program.Event{on("up"), on("up"), on("up again")}, []string{"", "", "up again"}},
		"off and on":                   {false, []program.Event{on("up"), off, on("up")}, []string{"up", "", "up"}},
		"unknown does not count":       {false, []program.Event{on("up"), unknown, on("up")}, []string{"up", "", ""}},
		"unknown before the first one": {true, []program.Event{unknown, on("up")}, []string{"", ""}},
		"finalized before the rule":    {true, []program.Event{final("up"), final("up")}, []string{"up", ""}},
		"the same while finalized":     {false, []program.Event{on("up"), final("up"), final("down")}, []string{"up", "", "down"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var e Emitted
			var got []string
			for _, event := range test.rendered {
				message := ""
				for _, due := range e.Due([]program.Event{event}, test.isOld) {
					message = due.Message
				}
				got = append(got, message)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// recorderFunc receives the message of each Event.
type recorderFunc func(message string)

func (f recorderFunc) AnnotatedEventf(_ runtime.Object, _ map[string]string, _, _, format string, args ...any) {
	f(fmt.Sprintf(format, args...))
}

// The API server refuses an Event whose message is too long, and a message may quote an object.
func TestEmitCuts(t *testing.T) {
	t.Parallel()
	var got string
	Emit(recorderFunc(func(message string) { got = message }), types.NamespacedName{}, nil, corev1.EventTypeNormal, "Long", "it was %s", strings.Repeat("é", 900_000))
	if len(got) > MaxEventMessage || !strings.HasPrefix(got, "it was éé") || !strings.HasSuffix(got, "…") {
		t.Errorf("the message has %d bytes and begins with %.20s", len(got), got)
	}
}
