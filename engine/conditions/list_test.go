package conditions

import (
	"strings"
	"testing"
)

// A rule's conditions go into a list that has those of others, in its order, and theirs stay.
func TestMerge(t *testing.T) {
	t.Parallel()
	theirs := map[string]any{"type": "Synced", "status": "True"}
	own := func(name, reason string) any {
		return map[string]any{"type": name, "status": "True", "reason": reason, "message": "", "lastTransitionTime": "t", "observedGeneration": int64(1)}
	}
	owner := Owner{Types: []string{"Lit"}}
	type step struct {
		before, own []any
		owner       Owner
		want        string
		overwritten string
	}
	tests := map[string][]step{
		"added behind those of others": {
			{[]any{theirs}, []any{own("Lit", "Yes"), own(Ready, ReasonReady)}, owner, "Synced Lit Ready", ""},
		},
		"kept in place, and those that no longer hold are removed": {
			{nil, []any{own(Ready, ReasonReady)}, owner, "Ready", ""},
			{[]any{own(Ready, ReasonReady), own(Stalled, ReasonInvalid), theirs}, []any{own(Ready, ReasonReady)}, owner, "Ready Synced", ""},
		},
		"a type that somebody else had is left alone": {
			{[]any{map[string]any{"type": "Lit", "status": "Unknown"}}, []any{own("Lit", "Yes")}, owner, "Lit", ""},
		},
		"known again after a restart by its fields": {
			{[]any{own("Lit", "No")}, []any{own("Lit", "Yes")}, Owner{Types: []string{"Lit"}, Wrote: true}, "Lit", ""},
		},
		"somebody changed one that still says the same": {
			{nil, []any{own("Lit", "Yes")}, owner, "Lit", ""},
			{[]any{own("Lit", "Theirs")}, []any{own("Lit", "Yes")}, owner, "Lit", "Lit"},
			{[]any{own("Lit", "Yes")}, []any{own("Lit", "No")}, owner, "Lit", ""},
		},
		"Kanon's own are left to another rule": {
			{nil, []any{own(Ready, ReasonReady)}, owner, "Ready", ""},
			{[]any{own(Ready, ReasonReady)}, nil, Owner{Yields: true}, "Ready", ""},
		},
	}
	for name, steps := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var list List
			for i, s := range steps {
				after, overwritten := list.Merge(s.before, s.own, s.owner)
				names := make([]string, len(after))
				for j, item := range after {
					names[j] = TypeOf(item)
				}
				if got := strings.Join(names, " "); got != s.want || strings.Join(overwritten, " ") != s.overwritten {
					t.Errorf("step %d: %s, overwritten %v; want %s, %s", i, got, overwritten, s.want, s.overwritten)
				}
			}
		})
	}
}
