package main

import (
	"context"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kanon.dev/kanon/cmd/kanonbench/internal/report"
)

// TestBrokenOff holds that a round that cannot be begun is an error, and what was measured
// before is shown.
func TestBrokenOff(t *testing.T) {
	var table strings.Builder
	b := &benchmark{
		options: Options{
			Kanon: "/bin/true", ControlPlane: "/bin/false", Loads: []string{"plain=2"}, Rounds: 1, Singles: 1, Rest: time.Second,
		},
		out: &table, progress: io.Discard,
	}
	b.results.Samples = []report.Sample{{
		Phase: report.New, Engine: report.Kanon, Load: report.Load{Parents: 2, Children: 3}, Values: []report.Value{{Unit: report.Time, Number: 7}},
	}}
	b.options.Logs = filepath.Join(t.TempDir(), "logs")
	err := b.run(context.Background())
	if err == nil || !strings.Contains(err.Error(), "prepare operator") {
		t.Errorf("the error is %v", err)
	}
	if !strings.Contains(table.String(), "7.00 s") {
		t.Errorf("the table is:\n%s", table.String())
	}
}

func TestInTurn(t *testing.T) {
	for _, size := range []int{1, 2, 3} {
		all := make([]*contender, size)
		for i := range all {
			all[i] = &contender{}
		}
		first, after := make(map[*contender]int), make(map[[2]*contender]int)
		for n := range 2 * size {
			order := inTurn(all, n)
			if next := inTurn(all, n+1); size > 1 && order[0] == next[0] {
				t.Errorf("the first of %d is the same in turns %d and %d", size, n, n+1)
			}
			first[order[0]]++
			for i := range order[1:] {
				after[[2]*contender{order[i], order[i+1]}]++
			}
		}
		for _, c := range all {
			if first[c] != 2 {
				t.Errorf("one of %d is the first %d times of %d", size, first[c], 2*size)
			}
		}
		if len(after) != size*(size-1) {
			t.Errorf("of %d engines %d pairs came one after the other", size, len(after))
		}
	}
}
