package reconcile

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/queue"
)

// An object carries how often it was recreated, until it has lasted for twice the longest pause.
func TestRecreationsOfAnObject(t *testing.T) {
	t.Parallel()
	limits := queue.Limits{First: 10 * time.Second, Max: 5 * time.Minute}
	at := time.Date(2026, 3, 5, 6, 7, 8, 0, time.UTC)
	tests := map[string]struct {
		text  string
		since time.Duration // from the last time to now
		want  queue.Backoff
	}{
		"once":                 {"1 2026-03-05T06:07:08Z", time.Hour / 60, queue.Backoff{Attempts: 1, Last: at, Pause: 10 * time.Second}},
		"often":                {"9 2026-03-05T06:07:08Z", 0, queue.Backoff{Attempts: 9, Last: at, Pause: 5 * time.Minute}},
		"it has almost lasted": {"6 2026-03-05T06:07:08Z", 10*time.Minute - time.Second, queue.Backoff{Attempts: 6, Last: at, Pause: 5 * time.Minute}},
		"it has lasted":        {text: "6 2026-03-05T06:07:08Z", since: 10 * time.Minute},
		"no annotation":        {},
		"no time":              {text: "2"},
		"no number":            {text: "x 2026-03-05T06:07:08Z"},
		"none":                 {text: "0 2026-03-05T06:07:08Z"},
		"less than none":       {text: "-1 2026-03-05T06:07:08Z"},
		"another time":         {text: "2 yesterday"},
	}
	for name, tc := range tests {
		got := recreationsOf(made(tc.text), at.Add(tc.since), limits)
		if got != tc.want {
			t.Errorf("%s: %q is read as %+v, want %+v", name, tc.text, got, tc.want)
		}
		if text := recreationText(got.Attempts, got.Last); got.Attempts > 0 && text != tc.text {
			t.Errorf("%s: it is written as %q, want %q", name, text, tc.text)
		}
	}
}

// made is an object that says how often it was created again.
func made(text string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{}
	obj.SetAnnotations(map[string]string{mark.AnnotationRecreated: text})
	return obj
}
