package conditions_test

import (
	"testing"
	"time"

	"kanon.dev/kanon/engine/conditions"
)

func TestWantsAnswer(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 5, 6, 7, 8, 0, time.UTC)
	for value, want := range map[string]bool{
		"": false, "now": false, "Thu Mar  5 06:07:08 UTC 2026": false, "2026-03-05T06:07:08Z": true, "2026-03-05T06:07:08.123456789Z": true,
		"2026-03-05T07:00:00+01:00": true, "2026-03-05T05:57:09Z": true, "2026-03-05T05:57:08Z": false, "2026-03-05T06:17:08Z": false,
	} {
		if got := conditions.WantsAnswer(value, now); got != want {
			t.Errorf("%q: %t, want %t", value, got, want)
		}
	}
}

func TestAnswer(t *testing.T) {
	t.Parallel()
	ready := conditions.Answer{Rule: "kanon/web", Request: "2026-03-05T06:07:08Z", Outcome: "Ready", Reason: "Ready", Message: "every child is up to date"}
	stalled := conditions.Answer{Rule: "kanon/web", Request: "2026-03-05T06:07:08Z", Outcome: "Stalled", Reason: "NameTaken", Message: "child a: b: c (d)"}
	for text, want := range map[string]conditions.Answer{
		"rule kanon/web reconciled it as requested at 2026-03-05T06:07:08Z: Ready: every child is up to date":       ready,
		"rule kanon/web reconciled it as requested at 2026-03-05T06:07:08Z: Stalled (NameTaken): child a: b: c (d)": stalled,
	} {
		if got := want.String(); got != text {
			t.Errorf("%q, want %q", got, text)
		}
		for _, message := range []string{text, "(combined from similar events): " + text} {
			if got, ok := conditions.ParseAnswer(message); !ok || got != want {
				t.Errorf("%q is read as %+v, %t", message, got, ok)
			}
		}
	}
	for _, message := range []string{"", "rule a: b", " reconciled it as requested at x: Ready: y", "rule a reconciled it as requested at x"} {
		if got, ok := conditions.ParseAnswer(message); ok {
			t.Errorf("%q is read as %+v", message, got)
		}
	}
}
