package report

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Tables shows a run: its circumstances, a Markdown table for each load, how the ratios grow with the number of
// parents, and the memory for large children.
func Tables(run *Run) string {
	var out strings.Builder
	out.WriteString(facts(run))
	for _, load := range run.Loads() {
		fmt.Fprintf(&out, "\n### %s\n\nRounds: %d.\n\n%s", TitleOf(load), rounds(run, load), columns(cells(run, load)))
	}
	return out.String() + growth(run) + size(run)
}

// facts lists the circumstances of a run, and how busy other programs were: results of a busy machine mean little.
func facts(run *Run) string {
	var out strings.Builder
	for _, c := range run.Circumstances {
		fmt.Fprintf(&out, "%s: %s\n", c.Key, c.Value)
	}
	var busy []float64
	for _, s := range run.Samples {
		if cores, ok := s.Value(Strangers); ok {
			busy = append(busy, cores)
		}
	}
	if len(busy) > 0 {
		fmt.Fprintf(&out, "other programs: %.2f processors, median of all phases\n", Quantile(busy, 0.5))
	}
	return out.String()
}

// rounds is the number of rounds of a load: the maximum over engines and phases.
func rounds(run *Run, load Load) (most int) {
	counts := make(map[[2]string]int)
	for _, s := range run.Samples {
		if s.Load == load {
			of := [2]string{s.Engine, string(s.Phase)}
			counts[of]++
			most = max(most, counts[of])
		}
	}
	return most
}

// TitleOf describes a load in words, without the number of parents if that is 0.
func TitleOf(load Load) string {
	if load.Patch != "" {
		return titleOfPatch(load)
	}
	title := fmt.Sprintf("Parents with %d children each", load.Children)
	if load.Parents > 0 {
		title = fmt.Sprintf("%s parents with %d children each", thousands(load.Parents), load.Children)
	}
	if load.Kinds > 1 {
		title += fmt.Sprintf(", of %d kinds with a rule each", load.Kinds)
	}
	if load.Size > 0 {
		title += fmt.Sprintf(", one of them of %s KB", thousands(load.Size/1000))
	}
	return title
}

func titleOfPatch(load Load) string {
	number := ""
	if load.Parents > 0 {
		number = thousands(load.Parents) + " "
	}
	switch load.Patch {
	case "shared":
		return first(number + "parents that all patch one object")
	case "selected":
		return first("one parent that patches " + number + "objects")
	default:
		return first(number + "parents that patch an object each")
	}
}

// first capitalises a text.
func first(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// cells is the table of a load. The first line is the header.
func cells(run *Run, load Load) [][]string {
	table := [][]string{{"", "by hand", "Kanon", "Kanon ÷ by hand", "target", ""}}
	for _, r := range rows(load) {
		kanon := run.Numbers(load, r.phase, Kanon, r.unit)
		byHand := run.Numbers(load, r.phase, Operator, r.unit)
		ratio, hasRatio := r.ratioOf(run, load)
		line := []string{
			r.title,
			r.number(byHand),
			r.number(kanon),
			"",
			r.target(),
			r.verdict(kanon, ratio, hasRatio),
		}
		if hasRatio {
			line[3] = ratio.String()
		}
		if line[1] != "" || line[2] != "" {
			table = append(table, line)
		}
	}
	return table
}

// ratioOf is what Kanon needs as a multiple of what the handwritten operator needs; false if one of them was not measured.
func (r *row) ratioOf(run *Run, load Load) (Spread, bool) {
	kanon, byHand := run.Numbers(load, r.phase, Kanon, r.unit), run.Numbers(load, r.phase, Operator, r.unit)
	return SpreadOf(Ratios(kanon, byHand))
}

func (r *row) number(numbers []float64) string {
	spread, ok := SpreadOf(numbers)
	if !ok {
		return ""
	}
	return r.format(spread.Median)
}

func (r *row) target() string {
	switch {
	case r.ratio != nil:
		return fmt.Sprintf("≤ %.3g ×", *r.ratio)
	case r.limit != nil && *r.limit == 0:
		return "0"
	case r.limit != nil:
		return "≤ " + r.format(*r.limit)
	}
	return ""
}

// verdict says whether the target is met, by the medians.
func (r *row) verdict(kanon []float64, ratio Spread, hasRatio bool) string {
	number, measured := SpreadOf(kanon)
	var met bool
	switch {
	case r.ratio != nil && hasRatio:
		met = ratio.Median <= *r.ratio
	case r.limit != nil && measured:
		met = number.Median <= *r.limit
	default:
		return ""
	}
	if met {
		return "met"
	}
	return "missed"
}

// columns is a Markdown table with aligned columns. The first line is the header.
func columns(table [][]string) string {
	widths := make([]int, len(table[0]))
	for _, line := range table {
		for i, cell := range line {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell), len("---"))
		}
	}
	rule := make([]string, len(widths))
	for i, width := range widths {
		rule[i] = strings.Repeat("-", width)
	}
	var out strings.Builder
	for _, line := range slices.Insert(slices.Clone(table), 1, rule) {
		for i, cell := range line {
			out.WriteString("| " + cell + strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+1))
		}
		out.WriteString("|\n")
	}
	return out.String()
}

// thousands formats an integer with commas.
func thousands(n int) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
