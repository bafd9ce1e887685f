package rules

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"kanon.dev/kanon/rules/diagnostic"
)

// Obeying the fixes of all findings of a rule gives a rule without those findings, and with no others: no two fixes contradict
// each other, and none makes another mistake. testdata/fixes.txt has what a fix brings to light, because nothing is known of an expression
// before what was wrong with it is mended: go test -update rewrites it.
func TestFixes(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob(filepath.Join("testdata", "*.txtar"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	fixed := 0
	var log strings.Builder
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files := map[string]string{}
		for _, f := range archive.Files {
			files[f.Name] = string(f.Data)
		}
		_, findings := compileCase(t, files)
		data, done := findings.Fixed([]byte(files["rule.yaml"]))
		if len(done) == 0 {
			continue
		}
		fixed += len(done)
		files["rule.yaml"] = string(data)
		_, after := compileCase(t, files)
		name := strings.TrimSuffix(filepath.Base(path), ".txtar")
		for _, f := range newIn(after, findings, done) {
			fmt.Fprintf(&log, "%s: %s\n", name, f)
		}
	}
	const golden = "testdata/fixes.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(log.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), log.String()); diff != "" {
		t.Errorf("what fixes bring to light (-want +got):\n%s", diff)
	}
	if fixed < 200 {
		t.Errorf("%d findings were fixed; their number has fallen", fixed)
	}
}

// newIn are the findings after a fix that were not there before, and those that are still there although they were fixed.
func newIn(after, before, done diagnostic.Findings) []diagnostic.Finding {
	about := func(f diagnostic.Finding) string { return string(f.Code) + f.Message }
	left := map[string]int{}
	for _, f := range before {
		left[about(f)]++
	}
	for _, f := range done {
		left[about(f)]--
	}
	var found []diagnostic.Finding
	for _, f := range after {
		if left[about(f)]--; left[about(f)] < 0 {
			found = append(found, f)
		}
	}
	return found
}
