package report

import (
	"fmt"
	"io"
)

// glanceColumns are the columns of the first table of the page, in multiples of the handwritten operator.
func glanceColumns() []struct {
	title string
	phase Phase
	unit  string
} {
	return []struct {
		title string
		phase Phase
		unit  string
	}{
		{"new", New, Time},
		{"change", Change, Time},
		{"drift", Drift, Time},
		{"deletion", Delete, Time},
		{"CPU of the engine, change", Change, CPU},
		{"memory at rest", Restart, Resident},
	}
}

// WriteGlance writes a line for each load: Kanon's values as multiples of the handwritten operator's. It omits loads
// without a measurement of both in these phases.
func WriteGlance(w io.Writer, run *Run) error {
	columns := glanceColumns()
	head := []string{"Kanon ÷ by hand"}
	for _, c := range columns {
		head = append(head, c.title)
	}
	table := [][]string{head}
	for _, load := range run.Loads() {
		if load.isSmall() {
			continue // only a first impression, measured in one round
		}
		line, has := []string{TitleOf(load)}, false
		for _, c := range columns {
			cell := ""
			if ratio, ok := SpreadOf(Ratios(run.Numbers(load, c.phase, Kanon, c.unit), run.Numbers(load, c.phase, Operator, c.unit))); ok {
				cell, has = fmt.Sprintf("%.2f", ratio.Median), true
			}
			line = append(line, cell)
		}
		if has {
			table = append(table, line)
		}
	}
	if err := writeColumns(w, table); err != nil {
		return fmt.Errorf("write the first table: %w", err)
	}
	return nil
}
