package conditions_test

import (
	"errors"
	"testing"
	"time"

	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/apply/refusal"
	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/rules/program"
)

// A conflict is reported once it has lasted, and no longer once it is resolved.
func TestUnresolved(t *testing.T) {
	t.Parallel()
	conflict := &refusal.ReplacedError{Ref: mark.Ref{Kind: "ConfigMap", Name: "a", UID: "1"}, Err: errors.New("no such write today")}
	const reported = "child a: ConfigMap a with UID 1 has changed or is gone: no such write today (in more than 6 reconciles in a row)"
	transient, other := conditions.Transient("it is in the way"), errors.New("out of reach")
	for name, tt := range map[string]struct {
		reconciles int
		pause      time.Duration
		err        error
		want       string
	}{
		"the first":              {1, time.Second, conflict, ""},
		"the sixth":              {6, time.Second, conflict, ""},
		"the seventh":            {7, time.Second, conflict, reported},
		"the hundredth":          {100, time.Second, conflict, reported},
		"many at once":           {100, time.Millisecond, conflict, ""},
		"few in a long time":     {3, time.Hour, conflict, ""},
		"hidden":                 {7, time.Second, conditions.Redact(conflict), reported},
		"what nobody else wrote": {100, time.Second, transient, ""},
		"an ordinary problem":    {100, time.Second, other, "child a: out of reach"},
	} {
		var count conditions.Unresolved
		now := time.Unix(0, 0)
		reconcile := func(err error) conditions.Summary {
			problems := count.Reported([]conditions.Problem{conditions.OfWrite("child a", err)}, now)
			count.Count(problems, now)
			now = now.Add(tt.pause)
			return conditions.Summarize(problems, program.Result{}, "")
		}
		var got conditions.Summary
		for range tt.reconciles {
			got = reconcile(tt.err)
		}
		want := conditions.Summary{Type: conditions.Reconciling, Reason: "WriteFailed", Message: tt.want}
		if tt.want == "" {
			want = conditions.Summarize(nil, program.Result{}, "")
		}
		if got != want {
			t.Errorf("%s: the parent is %+v, want %+v", name, got, want)
		}
		count.Count(nil, now)
		if count != (conditions.Unresolved{}) {
			t.Errorf("%s: after a reconcile without problems, it remembers %+v", name, count)
		}
	}
}
