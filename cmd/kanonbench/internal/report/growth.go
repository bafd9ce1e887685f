package report

import (
	"fmt"
	"io"
	"slices"
)

// WriteGrowth writes how the ratios to the handwritten operator, and the memory per parent, change with the number of
// parents. It writes a table for each kind of load that was measured with several numbers, or nothing.
func WriteGrowth(w io.Writer, run *Run) error {
	lead := "## Growth\n\n"
	for _, family := range families(run) {
		table := growthCells(run, family)
		if len(table) == 1 {
			continue // no phase was measured with several numbers
		}
		if _, err := fmt.Fprintf(w, "%s### %s\n\n", lead, TitleOf(withoutNumber(family[0]))); err != nil {
			return fmt.Errorf("write growth: %w", err)
		}
		if err := writeColumns(w, table); err != nil {
			return fmt.Errorf("write growth: %w", err)
		}
		lead = ""
		if _, err := fmt.Fprintln(w); err != nil {
			return fmt.Errorf("write growth: %w", err)
		}
	}
	return nil
}

// families groups the loads that differ only in the number of parents, from the fewest parents to the most.
func families(run *Run) [][]Load {
	var all [][]Load
	for _, load := range run.Loads() { // sorted, so that a family is contiguous
		if load.isSmall() {
			continue
		}
		last := len(all) - 1
		if last >= 0 && withoutNumber(all[last][0]) == withoutNumber(load) {
			all[last] = append(all[last], load)
			continue
		}
		all = append(all, []Load{load})
	}
	return slices.DeleteFunc(all, func(family []Load) bool { return len(family) < 2 })
}

func withoutNumber(load Load) Load {
	load.Parents = 0
	return load
}

// growthCells is the table of a family. The first line is the header.
func growthCells(run *Run, family []Load) [][]string {
	head := []string{"Kanon ÷ by hand"}
	for _, load := range family {
		head = append(head, thousands(load.Parents))
	}
	table := [][]string{append(head, "grows", "")}
	for _, r := range rows(family[0]) {
		if r.ratio == nil {
			continue
		}
		title := r.title
		if r.unit == CPU {
			title = "– CPU of the engine"
		}
		line := []string{title}
		var measured []Spread
		for _, load := range family {
			ratio, ok := SpreadOf(Ratios(run.Numbers(load, r.phase, Kanon, r.unit), run.Numbers(load, r.phase, Operator, r.unit)))
			if !ok {
				line = append(line, "")
				continue
			}
			measured = append(measured, ratio)
			line = append(line, ratio.String())
		}
		if len(measured) > 1 {
			table = append(table, append(line, grows(measured[0], measured[len(measured)-1])...))
		}
	}
	return table
}

// grows says how a ratio changes from the fewest parents to the most, and whether the change exceeds the spread of the
// rounds.
func grows(first, last Spread) []string {
	verdict := "no"
	if last.Min > first.Max {
		verdict = "yes"
	}
	return []string{fmt.Sprintf("%.2f ×", last.Median/first.Median), verdict}
}
