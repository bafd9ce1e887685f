package report

import (
	"fmt"
	"slices"
	"strings"
)

// growth shows how the ratios to the handwritten operator change with the number of parents: a table for each kind of
// load that was measured with several numbers.
func growth(run *Run) string {
	var out strings.Builder
	for _, family := range families(run) {
		if table := growthCells(run, family); len(table) > 1 {
			fmt.Fprintf(&out, "\n### Growth: %s\n\n%s", TitleOf(withoutNumber(family[0])), columns(table))
		}
	}
	return out.String()
}

// families groups the loads that differ only in the number of parents, from the fewest parents to the most.
func families(run *Run) [][]Load {
	var all [][]Load
	for _, load := range run.Loads() { // sorted, so that a family is contiguous
		last := len(all) - 1
		switch {
		case load.isSmall():
		case last >= 0 && withoutNumber(all[last][0]) == withoutNumber(load):
			all[last] = append(all[last], load)
		default:
			all = append(all, []Load{load})
		}
	}
	return slices.DeleteFunc(all, func(family []Load) bool { return len(family) < 2 })
}

func withoutNumber(load Load) Load {
	load.Parents = 0
	return load
}

// growthCells is the table of a family.
func growthCells(run *Run, family []Load) [][]string {
	head := []string{"Kanon ÷ by hand"}
	for _, load := range family {
		head = append(head, thousands(load.Parents))
	}
	table := [][]string{append(head, "grows")}
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
			cell := ""
			if ratio, ok := r.ratioOf(run, load); ok {
				measured = append(measured, ratio)
				cell = ratio.String()
			}
			line = append(line, cell)
		}
		if len(measured) > 1 {
			grows := measured[len(measured)-1].Median / measured[0].Median
			table = append(table, append(line, fmt.Sprintf("%.2f ×", grows)))
		}
	}
	return table
}

// size compares the memory at rest for large children with that for the same number of small ones.
func size(run *Run) string {
	table := [][]string{{"ConfigMaps", "engine", "small ones", "large ones", "more for each"}}
	loads := run.Loads()
	for _, large := range loads {
		small := large
		small.Size = 0
		if large.Size == 0 || !slices.Contains(loads, small) {
			continue
		}
		for _, engine := range []string{Operator, Kanon} {
			a, okA := SpreadOf(run.Numbers(small, Restart, engine, Resident))
			b, okB := SpreadOf(run.Numbers(large, Restart, engine, Resident))
			if okA && okB {
				table = append(table, []string{
					fmt.Sprintf("%s of %s KB", thousands(large.Parents), thousands(large.Size/1000)), engine,
					mebibytes(a.Median), mebibytes(b.Median),
					fmt.Sprintf("%.0f KB", (b.Median-a.Median)/float64(large.Parents)/1000),
				})
			}
		}
	}
	if len(table) == 1 {
		return ""
	}
	return "\n### Large children\n\nMemory at rest, after a restart.\n\n" + columns(table)
}

// RequestTables shows, for each load, the number of requests of each engine in each phase, by verb and resource, as medians
// of the rounds.
func RequestTables(run *Run) string {
	var out strings.Builder
	for _, load := range run.Loads() {
		table := [][]string{{"phase", "request", "by hand", "Kanon"}}
		for _, phase := range []Phase{New, Change, Drift, Rest, Restart, One, Delete, Beside} {
			for _, unit := range countUnits(run, load, phase) {
				verb, resource, _ := strings.Cut(unit, ":")
				line := []string{string(phase), verb + " " + strings.ReplaceAll(resource, ".", "/")}
				for _, engine := range []string{Operator, Kanon} {
					cell := ""
					if spread, ok := SpreadOf(run.Numbers(load, phase, engine, unit)); ok {
						cell = plain(spread.Median)
					}
					line = append(line, cell)
				}
				table = append(table, line)
			}
		}
		fmt.Fprintf(&out, "\n### %s\n\n%s", TitleOf(load), columns(table))
	}
	return out.String()
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
