package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// WriteRequests writes, for each load, the number of requests of each engine in each phase, by verb and resource, as
// medians of the rounds.
func WriteRequests(w io.Writer, run *Run) error {
	for i, load := range run.Loads() {
		lead := "\n"
		if i == 0 {
			lead = ""
		}
		if _, err := fmt.Fprintf(w, "%s### %s\n\n", lead, TitleOf(load)); err != nil {
			return fmt.Errorf("write requests: %w", err)
		}
		if err := writeColumns(w, requestCells(run, load)); err != nil {
			return fmt.Errorf("write requests: %w", err)
		}
	}
	return nil
}

func requestCells(run *Run, load Load) [][]string {
	table := [][]string{{"phase", "request", "by hand", "bare loop", "Kanon"}}
	for _, phase := range []Phase{New, Change, Drift, Rest, Restart, One, Delete, Beside} {
		for _, unit := range countUnits(run, load, phase) {
			verb, resource, _ := strings.Cut(unit, ":")
			line := []string{string(phase), verb + " " + strings.ReplaceAll(resource, ".", "/")}
			for _, engine := range []string{Operator, Loop, Kanon} {
				cell := ""
				if spread, ok := SpreadOf(run.Numbers(load, phase, engine, unit)); ok {
					cell = plain(spread.Median)
				}
				line = append(line, cell)
			}
			table = append(table, line)
		}
	}
	return table
}

// countUnits lists the units of requests that some engine sent in a phase.
func countUnits(run *Run, load Load, phase Phase) []string {
	var units []string
	for _, s := range run.Samples {
		if s.Load != load || s.Phase != phase {
			continue
		}
		for _, v := range s.Values {
			if isCount(v.Unit) {
				units = append(units, v.Unit)
			}
		}
	}
	slices.Sort(units)
	return slices.Compact(units)
}
