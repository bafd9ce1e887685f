package rules_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kanon.dev/kanon/rules/celenv"
)

// functionExample is an expression of the reference with what it says comes out.
type functionExample struct{ expr, want string }

// Every example of the reference gives what the reference says.
func TestFunctionReference(t *testing.T) {
	t.Parallel()
	page := pages(t, "../docs/reference/functions.md", "../docs/reference/cel.md")
	examples := append(blockExamples(t, page), tableExamples(page)...)
	if len(examples) < 150 {
		t.Fatalf("found %d examples; the page has changed its form", len(examples))
	}
	for _, e := range examples {
		t.Run(e.expr, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(wantedResult(t, e.want), evaluateText(t, e.expr)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", e.expr, diff)
			}
		})
	}
}

// The reference has every function.
func TestFunctionReferenceIsComplete(t *testing.T) {
	t.Parallel()
	page := pages(t, "../docs/reference/functions.md", "../docs/reference/cel.md")
	env, err := celenv.Shared()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range env.FunctionNames() {
		if !strings.Contains(page, name+"(") {
			t.Errorf("the reference does not mention %s", name)
		}
	}
}

// blockExamples are the blocks of CEL: an expression, and a comment that says
// what it gives.
func blockExamples(t *testing.T, page string) []functionExample {
	t.Helper()
	var found []functionExample
	blocks := strings.Split(page, "```cel\n")
	for _, block := range blocks[1:] {
		body, _, _ := strings.Cut(block, "```")
		expr, want, ok := strings.Cut(strings.TrimSuffix(body, "\n"), "\n// ")
		if !ok {
			t.Errorf("this example does not say what it gives: %s", body)
			continue
		}
		found = append(found, functionExample{expr: expr, want: strings.TrimPrefix(want, "= ")})
	}
	return found
}

// tableExamples are the rows of tables that have a column for an example, and
// one for its result at the end.
func tableExamples(page string) []functionExample {
	var found []functionExample
	inTable := false
	for line := range strings.Lines(page) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.Trim(strings.TrimSpace(cells[i]), "`")
		}
		switch {
		case !strings.HasPrefix(line, "|"):
			inTable = false
		case len(cells) == 4 && cells[3] == "Result":
			inTable = true
		case inTable && !strings.HasPrefix(cells[0], "---"):
			found = append(found, functionExample{expr: cells[2], want: cells[3]})
		}
	}
	return found
}

// pages is the text of the pages that match one of the patterns.
func pages(t *testing.T, patterns ...string) string {
	t.Helper()
	var text strings.Builder
	for _, pattern := range patterns {
		paths, err := filepath.Glob(pattern)
		if err != nil || len(paths) == 0 {
			t.Fatalf("%s: %d pages, %v", pattern, len(paths), err)
		}
		for _, path := range paths {
			page, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			text.Write(page)
		}
	}
	return text.String()
}
