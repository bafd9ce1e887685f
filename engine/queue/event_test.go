package queue

import (
	"errors"
	"testing"
	"time"
)

func TestIsSure(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		out  Outcome
		want bool
	}{
		"settled":                   {Outcome{}, true},
		"an event":                  {Await(InputChanges), true},
		"a pause without an end":    {Await(PauseEnds), false},
		"a pause":                   {Outcome{After: time.Second}.AndAwait(PauseEnds), true},
		"a pause, and rights":       {Outcome{After: time.Second}.AndAwait(PauseEnds).AndAwait(RightsChange), true},
		"rights that nobody checks": {Await(ChildEnds).AndAwait(RightsChange), false},
	} {
		if got := test.out.IsSure(); got != test.want {
			t.Errorf("%s: %t, want %t", name, got, test.want)
		}
	}
}

func TestIsDecided(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		out  Outcome
		want bool
	}{
		"settled":                 {Outcome{}, true},
		"a child that is stuck":   {Outcome{Verdict: Again}, true},
		"it waits for an input":   {Await(InputChanges), true},
		"it was too early":        {Outcome{Verdict: Later}, false},
		"it failed":               {Outcome{Verdict: Again, Err: errors.New("refused")}, false},
		"an object has changed":   {Outcome{Verdict: Again, Retry: errors.New("conflict")}, false},
		"there was no memory":     {Outcome{Verdict: Again, Undecided: true}, false},
		"the rule does not run":   {Await(RuleStarts), false},
		"an informer lists":       {Await(InputChanges).AndAwait(InformerSyncs), false},
		"the Namespace is unread": {Await(NamespaceChanges), false},
	} {
		if got := test.out.IsDecided(); got != test.want {
			t.Errorf("%s: %t, want %t", name, got, test.want)
		}
	}
}
