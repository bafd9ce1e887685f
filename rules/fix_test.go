package rules

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"kanon.dev/kanon/rules/diagnostic"
)

// Obeying the fixes of all findings of a rule gives a rule without those findings, and with no others: no two fixes contradict
// each other, and none makes another mistake. testdata/fixes.txt has what a fix brings to light, because nothing is known of an expression
// before what was wrong with it is mended: go test -update rewrites it. Whoever goes on with the fixes of what has come to light comes to
// an end, and none makes undone what another one has done.
func TestFixes(t *testing.T) {
	t.Parallel()
	fixed := 0
	var log strings.Builder
	cases := casesIn(t)
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		files := cases[name]
		_, findings := compileCase(t, files)
		data, done := findings.Fixed([]byte(files["rule.yaml"]))
		for _, f := range without(findings, done) {
			switch {
			case f.Fix != nil:
				t.Errorf("%s: the fix is not made, because that of another finding changes the same place: %s", name, f)
			case strings.Contains(f.Hint, "did you mean"):
				t.Errorf("%s: it is known what is meant, and there is no fix: %s", name, f)
			}
		}
		for _, contradiction := range contradictions(findings) {
			t.Errorf("%s: %s", name, contradiction)
		}
		if len(done) == 0 {
			continue
		}
		fixed += len(done)
		files["rule.yaml"] = string(data)
		_, after := compileCase(t, files)
		for _, f := range newIn(after, findings, done) {
			fmt.Fprintf(&log, "%s: %s\n", name, f)
		}
		checkFixesEnd(t, name, files, after, done)
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

// checkFixesEnd makes the fixes of a case, of which some were made, until there are no more.
func checkFixesEnd(t *testing.T, name string, files map[string]string, findings, all diagnostic.Findings) {
	t.Helper()
	for range 5 {
		data, done := findings.Fixed([]byte(files["rule.yaml"]))
		if len(done) == 0 {
			return
		}
		for _, f := range done {
			if slices.ContainsFunc(all, func(before diagnostic.Finding) bool { return about(before) == about(f) && before.Line == f.Line }) {
				t.Errorf("%s: it comes back after its fix: %s", name, f)
			}
		}
		all = append(all, done...)
		files["rule.yaml"] = string(data)
		_, findings = compileCase(t, files)
	}
	t.Errorf("%s: after 5 rounds there are still fixes", name)
}

// casesIn are the files of cases, by the names of these.
func casesIn(tb testing.TB) map[string]map[string]string {
	tb.Helper()
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		tb.Fatalf("no cases: %v", err)
	}
	cases := map[string]map[string]string{}
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			tb.Fatal(err)
		}
		files := map[string]string{}
		for _, f := range archive.Files {
			files[f.Name] = string(f.Data)
		}
		cases[strings.TrimSuffix(filepath.Base(path), ".txtar")] = files
	}
	return cases
}

// contradictions are the findings about one place whose fixes, or whose hints, would put different texts there.
func contradictions(findings diagnostic.Findings) (found []string) {
	for i, f := range findings {
		for _, g := range findings[:i] {
			if a, b := replacement(f), replacement(g); f.Position == g.Position && f.Length == g.Length && a != "" && b != "" && a != b {
				found = append(found, fmt.Sprintf("the advice of these contradicts itself:\n%s\n%s", f, g))
			}
		}
	}
	return found
}

// replacement is the text that a finding would have in place of what it is about; empty if its advice is something else.
func replacement(f diagnostic.Finding) string {
	if f.Fix != nil && len(f.Fix.Edits) == 1 && f.Fix.Edits[0].Position == f.Position {
		return f.Fix.Edits[0].New
	}
	if text, ok := strings.CutPrefix(f.Hint, "write "); ok {
		return text
	}
	return ""
}

// Contradictions are found where there are some.
func TestContradictions(t *testing.T) {
	t.Parallel()
	at := diagnostic.Position{File: "rule.yaml", Line: 3, Column: 5}
	hint := func(text string) diagnostic.Finding { return diagnostic.Finding{Position: at, Length: 4, Hint: text} }
	fix := func(text string) diagnostic.Finding {
		f := diagnostic.Finding{Position: at, Length: 4}
		return *f.WithEdit(at, "nam", text)
	}
	elsewhere := hint("write z")
	elsewhere.Column++
	for name, c := range map[string]struct {
		findings diagnostic.Findings
		want     int
	}{
		"two texts":         {diagnostic.Findings{hint("write x"), hint("write y")}, 1},
		"two fixes":         {diagnostic.Findings{fix("name"), fix("names")}, 1},
		"a fix and a hint":  {diagnostic.Findings{fix("name"), hint("write names")}, 1},
		"the same":          {diagnostic.Findings{fix("name"), hint("write name")}, 0},
		"another place":     {diagnostic.Findings{hint("write x"), elsewhere}, 0},
		"no text":           {diagnostic.Findings{hint("write x"), hint("leave it out")}, 0},
		"three in one rule": {diagnostic.Findings{hint("write x"), hint("write y"), hint("write z")}, 3},
	} {
		if got := contradictions(c.findings); len(got) != c.want {
			t.Errorf("%s: %q, want %d", name, got, c.want)
		}
	}
}

// about is what a finding says, wherever.
func about(f diagnostic.Finding) string { return string(f.Code) + f.Message }

// without are the findings that are not among others.
func without(findings, others diagnostic.Findings) diagnostic.Findings {
	return slices.DeleteFunc(slices.Clone(findings), func(f diagnostic.Finding) bool {
		return slices.ContainsFunc(others, func(o diagnostic.Finding) bool { return about(o) == about(f) && o.Position == f.Position })
	})
}

// newIn are the findings after a fix that were not there before, and those that are still there although they were fixed.
func newIn(after, before, done diagnostic.Findings) []diagnostic.Finding {
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
