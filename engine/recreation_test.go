package engine

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine/apply"
)

// The first time an object is made anew at once, then with pauses that double to the
// longest, and after twice that as if it had never been.
func TestPausesOfRecreation(t *testing.T) {
	t.Parallel()
	const base, longest = 10 * time.Second, 5 * time.Minute
	at := time.Date(2026, 3, 5, 6, 7, 8, 0, time.UTC)
	tests := map[string]struct {
		count int
		since time.Duration // from the last time to now
		want  time.Duration
	}{
		"never":                {0, 0, 0},
		"once":                 {1, 0, base},
		"twice":                {2, 0, 2 * base},
		"three times":          {3, 0, 4 * base},
		"a part has passed":    {3, 15 * time.Second, 25 * time.Second},
		"all of it has passed": {1, 11 * time.Second, -time.Second},
		"the longest":          {6, 0, longest},
		"very often":           {1 << 40, 0, longest},
		"it has almost lasted": {6, 2*longest - time.Second, time.Second - longest},
		"it has lasted":        {6, 2 * longest, 0},
		"a clock put back":     {2, -time.Hour, 2 * base},
	}
	for name, tc := range tests {
		r := recreation{count: tc.count, at: at}
		if got := r.wait(at.Add(tc.since), base, longest); got != tc.want {
			t.Errorf("%s: it waits %s, want %s", name, got, tc.want)
		}
		if tc.count > 0 {
			if again := recreationOf(made(r.String())); again != r {
				t.Errorf("%s: %q is read as %+v", name, r, again)
			}
		}
	}
	for _, text := range []string{"", "2", "x 2026-03-05T06:07:08Z", "0 2026-03-05T06:07:08Z", "-1 2026-03-05T06:07:08Z", "2 yesterday"} {
		if got := recreationOf(made(text)); got != (recreation{}) {
			t.Errorf("%q is read as %+v", text, got)
		}
	}
}

// made is an object that says how often it was made anew.
func made(text string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{}
	obj.SetAnnotations(map[string]string{apply.AnnotationRecreated: text})
	return obj
}
