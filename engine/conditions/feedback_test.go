package conditions_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/feedback"
	"kanon.dev/kanon/engine/queue"
)

// A long chain that makes progress is no failure, and reads so.
func TestOfLongChain(t *testing.T) {
	t.Parallel()
	step := feedback.Step{Key: queue.Key{Rule: "a", Parent: types.NamespacedName{Name: "mine"}}, Wrote: "ConfigMap home/x"}
	problem := conditions.OfLoop(&feedback.Loop{Kind: feedback.Long, Rounds: 300, Steps: []feedback.Step{step}},
		func(rule string) (string, bool) { return "rule " + rule, true })
	if problem.Reason != conditions.ReasonSelfTriggering || problem.Stalled || !problem.IsEventful() {
		t.Errorf("got %+v", problem)
	}
	const want = "loop: it is not stable yet: each of more than 300 changes was caused by the one before, and by nothing else " +
		"(rule a for mine writes ConfigMap home/x → rule a for mine); Kanon continues with pauses that grow slowly; " +
		"if this should have ended, one of these rules must not depend on what it writes"
	if got := problem.String(); got != want {
		t.Errorf("got %q", got)
	}
}

// A loop names the rules in it, and of one that whoever reads it must not know nothing: neither its name, nor its parent, nor what it
// writes.
func TestOfLoop(t *testing.T) {
	t.Parallel()
	step := func(rule, parent, wrote string) feedback.Step {
		return feedback.Step{Key: queue.Key{Rule: rule, Parent: types.NamespacedName{Namespace: "home", Name: parent}}, Wrote: wrote}
	}
	loop := &feedback.Loop{Kind: feedback.Repeating, Steps: []feedback.Step{step("a", "mine", "ConfigMap home/x"), step("b", "theirs", "Secret away/y")}}
	for name, test := range map[string]struct {
		hidden       string
		want, absent []string
	}{
		"all known":  {want: []string{"rule a for home/mine writes ConfigMap home/x → rule b for home/theirs writes Secret away/y → rule a for home/mine)"}},
		"one hidden": {hidden: "b", want: []string{"rule a for home/mine writes ConfigMap home/x → a rule elsewhere → rule a for home/mine)"}, absent: []string{"theirs", "away"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := conditions.OfLoop(loop, func(rule string) (string, bool) {
				if rule == test.hidden {
					return "a rule elsewhere", false
				}
				return "rule " + rule, true
			}).String()
			for _, want := range test.want {
				if !strings.Contains(text, want) {
					t.Errorf("%q does not have %q", text, want)
				}
			}
			for _, absent := range test.absent {
				if strings.Contains(text, absent) {
					t.Errorf("%q has %q", text, absent)
				}
			}
		})
	}
}
