package program

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// part is a part of a status that has the value, or the problem.
type part struct {
	val     any
	problem *Problem
}

func (p part) Render(Scope) (any, bool, *Problem) {
	return p.val, p.problem == nil, p.problem
}

func TestRender(t *testing.T) {
	waits, fails := part{problem: Waiting("not yet")}, part{problem: Failure("never")}
	skips := part{problem: &Problem{Verdict: Skips, Message: "skipped"}}
	status := func(url Template) Template {
		return Map{Entries: []Entry{
			{Name: "url", Value: url},
			{Name: "size", Value: part{val: int64(3)}},
		}}
	}
	before := map[string]any{"url": "old", "others": "own"}
	tests := map[string]struct {
		status Template
		last   any
		want   map[string]any
		held   bool
		notes  []string
	}{
		"values":                 {status(part{val: "new"}), before, map[string]any{"url": "new", "size": int64(3)}, false, nil},
		"a leaf that waits":      {status(waits), before, map[string]any{"url": "old", "size": int64(3)}, false, []string{"status.url: not yet"}},
		"a leaf that failed":     {status(fails), before, map[string]any{"url": "old", "size": int64(3)}, false, []string{"status.url: never"}},
		"a leaf without a value": {status(waits), nil, map[string]any{"size": int64(3)}, false, []string{"status.url: not yet"}},
		"a leaf that is skipped": {status(skips), before, map[string]any{"size": int64(3)}, false, []string{"status.url: skipped"}},
		"a null":                 {status(part{}), before, map[string]any{"size": int64(3)}, false, nil},
		"all of it waits":        {waits, before, nil, true, []string{"status: not yet"}},
		"all of it is skipped":   {skips, before, nil, false, []string{"status: skipped"}},
		"no map":                 {part{val: "text"}, before, nil, true, []string{"status: must be a map, and is a string"}},
		"from an expression":     {part{val: map[string]any{"a": "b"}}, before, map[string]any{"a": "b"}, false, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var notes []string
			got, held := statusOf(test.status, NewTrial(Limits{}.WithDefaults(), 1000), test.last, func(p *Problem) {
				notes = append(notes, p.Error())
			})
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("status (-want +got):\n%s", diff)
			}
			if held != test.held {
				t.Errorf("held is %t", held)
			}
			if diff := cmp.Diff(test.notes, notes); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}
