package report

import (
	_ "embed" // the texts of the pages
	"errors"
	"fmt"
	"io"
	"strings"
)

// quietStrangers is the maximum number of processors that other programs may keep busy, as the median of all phases.
const quietStrangers = 0.15

//go:embed page.md
var pageText string

//go:embed glance.md
var glanceText string

//go:embed results.md
var resultsText string

// CheckQuiet returns an error if a run must not be published because the machine was busy with other programs.
func CheckQuiet(run *Run) error {
	if busy := strangersOf(run); busy > quietStrangers {
		return fmt.Errorf("other programs kept %.2f processors busy meanwhile, more than %.2f", busy, quietStrangers)
	}
	return nil
}

// strangersOf is the number of processors that other programs kept busy, as the median of all phases.
func strangersOf(run *Run) float64 {
	var all []float64
	for _, s := range run.Samples {
		if busy, ok := s.Value(Strangers); ok {
			all = append(all, busy)
		}
	}
	if len(all) == 0 {
		return 0
	}
	return Quantile(all, 0.5)
}

// WritePage writes docs/performance.md: the results, and how they were measured. plot and results are the paths of the
// plot and of the page of WriteResults, relative to the page. Without a run (nil), the page says how to make one.
func WritePage(w io.Writer, run *Run, plot, results string) error {
	glance := "## Results\n\nThere are no results yet of a machine that ran nothing else.\n"
	if run != nil {
		var table strings.Builder
		if err := WriteGlance(&table, run); err != nil {
			return err
		}
		glance = strings.NewReplacer(
			"{{plot}}", plot,
			"{{results}}", results,
			"{{glance}}", strings.TrimSpace(table.String()),
		).Replace(glanceText)
	}
	if _, err := io.WriteString(w, strings.Replace(pageText, "{{glance}}\n", glance, 1)); err != nil {
		return fmt.Errorf("write page: %w", err)
	}
	return nil
}

// WriteResults writes docs/performance-results.md: all tables of a run.
func WriteResults(w io.Writer, run *Run) error {
	var table, growth, size, requests, facts strings.Builder
	if err := errors.Join(WriteTable(&table, run), WriteGrowth(&growth, run), WriteSize(&size, run), WriteRequests(&requests, run)); err != nil {
		return err
	}
	for _, fact := range []struct{ title, value string }{
		{"Date", run.Circumstance(KeyDate)},
		{"Machine", run.Circumstance(KeyMachine) + ", shared with the API server"},
		{"Kubernetes", run.Circumstance(KeyKubernetes)},
		{"Go", run.Circumstance(KeyGo)},
		{"Kanon", run.Circumstance(KeyKanon)},
		{"controller-runtime", run.Circumstance(KeyOperator)},
		{"Other programs", fmt.Sprintf("%.2f processors, median of all phases", strangersOf(run))},
	} {
		fmt.Fprintf(&facts, "| %s | %s |\n", fact.title, fact.value)
	}
	text := strings.NewReplacer(
		"{{facts}}", strings.TrimSpace(facts.String()),
		"{{table}}", strings.TrimSpace(table.String()),
		"{{growth}}", growth.String(),
		"{{size}}", size.String(),
		"{{requests}}", strings.TrimSpace(requests.String()),
	).Replace(resultsText)
	if _, err := io.WriteString(w, text); err != nil {
		return fmt.Errorf("write results: %w", err)
	}
	return nil
}
