package report

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// WriteTable writes a Markdown table for each load, with aligned columns.
func WriteTable(w io.Writer, run *Run) error {
	for i, load := range run.Loads() {
		lead := "\n"
		if i == 0 {
			lead = ""
		}
		if _, err := fmt.Fprintf(w, "%s### %s\n\nRounds: %d.\n\n", lead, TitleOf(load), rounds(run, load)); err != nil {
			return fmt.Errorf("write table: %w", err)
		}
		if err := writeColumns(w, cells(run, load)); err != nil {
			return fmt.Errorf("write table: %w", err)
		}
	}
	return nil
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
	table := [][]string{{"", "by hand", "bare loop", "Kanon", "Kanon ÷ by hand", "target", ""}}
	for _, r := range rows(load) {
		kanon := run.Numbers(load, r.phase, Kanon, r.unit)
		byHand := run.Numbers(load, r.phase, Operator, r.unit)
		ratio, hasRatio := SpreadOf(Ratios(kanon, byHand))
		line := []string{
			r.title,
			r.number(byHand),
			r.number(run.Numbers(load, r.phase, Loop, r.unit)),
			r.number(kanon),
			"",
			r.target(),
			r.verdict(kanon, ratio, hasRatio),
		}
		if hasRatio {
			line[4] = ratio.String()
		}
		if line[1] != "" || line[2] != "" || line[3] != "" {
			table = append(table, line)
		}
	}
	return table
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

func writeColumns(w io.Writer, table [][]string) error {
	widths := make([]int, len(table[0]))
	for _, line := range table {
		for i, cell := range line {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell), len("---"))
		}
	}
	for i, line := range table {
		if err := writeLine(w, line, widths); err != nil {
			return err
		}
		if i > 0 {
			continue
		}
		rule := make([]string, len(widths))
		for j, width := range widths {
			rule[j] = strings.Repeat("-", width)
		}
		if err := writeLine(w, rule, widths); err != nil {
			return err
		}
	}
	return nil
}

func writeLine(w io.Writer, line []string, widths []int) error {
	var out strings.Builder
	for i, cell := range line {
		out.WriteString("| " + cell + strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+1))
	}
	_, err := fmt.Fprintln(w, out.String()+"|")
	return err
}

// thousands formats an integer with commas.
func thousands(n int) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
