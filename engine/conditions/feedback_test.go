package conditions_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/feedback"
	"kanon.dev/kanon/engine/queue"
)

// A loop names the rules in it, and of one that whoever reads it must not know nothing: neither its name, nor its parent, nor what it
// writes.
func TestOfLoop(t *testing.T) {
	t.Parallel()
	step := func(rule, parent, wrote string) feedback.Step {
		return feedback.Step{Key: queue.Key{Rule: rule, Parent: types.NamespacedName{Namespace: "home", Name: parent}}, Wrote: wrote}
	}
	loop := &feedback.Loop{Rounds: 300, Steps: []feedback.Step{step("a", "mine", "ConfigMap home/x"), step("b", "theirs", "Secret away/y")}}
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
