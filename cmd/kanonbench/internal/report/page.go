package report

import (
	_ "embed" // the text of the page
	"errors"
	"fmt"
	"io"
	"strings"
)

// quietStrangers is how many processors others may keep busy in a phase, as the
// median of all phases.
const quietStrangers = 0.15

//go:embed page.md
var pageText string

//go:embed results.md
var resultsText string

// CheckQuiet is an error that says why a run is not to be published: the machine
// had other work to do.
func CheckQuiet(run *Run) error {
	if busy := strangersOf(run); busy > quietStrangers {
		return fmt.Errorf("other programs kept %.2f processors busy meanwhile, more than %.2f", busy, quietStrangers)
	}
	return nil
}

// strangersOf is how many processors other programs kept busy, as the median of
// all phases.
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

// WritePage writes docs/performance.md. plot is where the plot is, as seen from
// the page. Without a run, which is nil, the page says how to make one.
func WritePage(w io.Writer, run *Run, plot string) error {
	results := "## Results\n\nThere are no results yet of a machine that ran nothing else.\n"
	if run != nil {
		var err error
		if results, err = resultsOf(run, plot); err != nil {
			return err
		}
	}
	if _, err := fmt.Fprintf(w, "%s\n%s", pageText, results); err != nil {
		return fmt.Errorf("write page: %w", err)
	}
	return nil
}

func resultsOf(run *Run, plot string) (string, error) {
	var table, growth, size, requests, facts strings.Builder
	err := errors.Join(WriteTable(&table, run), WriteGrowth(&growth, run), WriteSize(&size, run), WriteRequests(&requests, run))
	if err != nil {
		return "", err
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
	return strings.NewReplacer(
		"{{facts}}", strings.TrimSpace(facts.String()),
		"{{plot}}", plot,
		"{{table}}", strings.TrimSpace(table.String()),
		"{{growth}}", growth.String(),
		"{{size}}", size.String(),
		"{{requests}}", strings.TrimSpace(requests.String()),
	).Replace(resultsText), nil
}
