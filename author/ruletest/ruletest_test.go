package ruletest_test

import (
	"bytes"
	"encoding/xml"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kanon.dev/kanon/author/ruletest"
)

var update = flag.Bool("update", false, "rewrite what is wanted")

func filesIn(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %d files, %v", pattern, len(files), err)
	}
	return files
}

// What testdata and the examples want comes out, and every part of their rules is taken.
func TestFilesThatPass(t *testing.T) {
	t.Parallel()
	var coverage ruletest.Coverage
	for _, file := range append(filesIn(t, "testdata/*_test.yaml"), filesIn(t, "../../examples/*/*_test.yaml")...) {
		result := ruletest.Run(t.Context(), file, ruletest.Options{}, &coverage)
		if result.Failed() || len(result.Cases) == 0 {
			var text strings.Builder
			_ = ruletest.Printer{}.Print(&text, result)
			t.Error(text.String())
		}
	}
	gaps, taken, all := coverage.Gaps()
	if len(gaps) > 0 || taken != all || all < 15 {
		t.Errorf("taken are %d of %d: %v", taken, all, gaps)
	}
}

// What is wrong is told with its line, and Secrets stay secret.
func TestFailures(t *testing.T) {
	t.Parallel()
	times := regexp.MustCompile(`\([0-9.]+(µs|ms|s)\)`)
	var text strings.Builder
	for _, file := range filesIn(t, "testdata/failures/*_test.yaml") {
		result := ruletest.Run(t.Context(), file, ruletest.Options{}, nil)
		if !result.Failed() {
			t.Errorf("%s passes", file)
		}
		if err := (ruletest.Printer{Verbose: true}).Print(&text, result); err != nil {
			t.Fatal(err)
		}
	}
	got := times.ReplaceAllString(text.String(), "(TIME)")
	if strings.Contains(got, "hidden-by-kanon") {
		t.Error("the value of a Secret is shown")
	}
	const golden = "testdata/failures/want.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Error(d)
	}
}

// Update writes outputs and nothing else, and a second time changes nothing.
func TestUpdate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"rule.yaml"} {
		data, err := os.ReadFile(filepath.Join("testdata/failures", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(dir, "x_test.yaml")
	text := `apiVersion: kanon.dev/v1alpha1
kind: RuleTest
rule: rule.yaml # the rule
parent: {metadata: {name: p, labels: {a: b}}, data: {a: one}}
cases:
  - name: one # a comment
    expect:
      output: |
        old

        text

    steps:
      - name: deleted
        delete: parent
        expect:
          output: ""
          parent: null
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	result := ruletest.Run(t.Context(), file, ruletest.Options{Update: true}, nil)
	if result.Failed() || result.Updated != 2 {
		t.Fatalf("%d outputs are rewritten: %v, %v", result.Updated, result.Err, result.Cases)
	}
	updated, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{
		"rule: rule.yaml # the rule\n", "- name: one # a comment\n", "        # child copy\n", "\n\n    steps:\n",
		"          output: |\n            # the parent does not exist any more\n          parent: null\n",
	} {
		if !strings.Contains(string(updated), part) {
			t.Errorf("there is no %q in\n%s", part, updated)
		}
	}
	if result = ruletest.Run(t.Context(), file, ruletest.Options{}, nil); result.Failed() {
		t.Errorf("what was written does not pass: %v", result.Cases)
	}
	if result = ruletest.Run(t.Context(), file, ruletest.Options{Update: true}, nil); result.Updated != 0 {
		t.Errorf("%d outputs are rewritten again", result.Updated)
	}
}

// What cannot be rewritten is not counted.
// The comment behind an output stays, and the lines end as those of the file do.
func TestUpdateKeepsCommentsAndLineEnds(t *testing.T) {
	t.Parallel()
	rule, err := filepath.Abs("testdata/failures/rule.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, old := range []string{"old # why", "\"a # b\" # why", "| # why\r\n      old"} {
		file := filepath.Join(t.TempDir(), "x_test.yaml")
		text := "apiVersion: kanon.dev/v1alpha1\r\nkind: RuleTest\r\nrule: " + rule +
			"\r\nparent: {metadata: {name: p, labels: {a: b}}, data: {a: one}}\r\ncases:\r\n- name: one\r\n  expect:\r\n    output: " + old + "\r\n"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if result := ruletest.Run(t.Context(), file, ruletest.Options{Update: true}, nil); result.Err != nil || result.Updated != 1 {
			t.Fatalf("%q: %d outputs are rewritten: %v", old, result.Updated, result.Err)
		}
		updated, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(updated), "    output: | # why\r\n") || strings.Count(string(updated), "\n") != strings.Count(string(updated), "\r\n") {
			t.Errorf("%q becomes %q", old, updated)
		}
	}
}

func TestUpdateOfFlow(t *testing.T) {
	t.Parallel()
	rule, err := filepath.Abs("testdata/failures/rule.yaml")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "x_test.yaml")
	text := "apiVersion: kanon.dev/v1alpha1\nkind: RuleTest\nrule: " + rule +
		"\nparent: {metadata: {name: p, labels: {a: b}}, data: {a: one}}\ncases: [{name: one, expect: {output: old}}]\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if result := ruletest.Run(t.Context(), file, ruletest.Options{Update: true}, nil); result.Err == nil || result.Updated != 0 {
		t.Errorf("%d outputs are rewritten: %v", result.Updated, result.Err)
	}
}

func TestJUnit(t *testing.T) {
	t.Parallel()
	var results []*ruletest.FileResult
	for _, file := range []string{"testdata/items_test.yaml", "testdata/failures/wrong_test.yaml", "testdata/failures/norule_test.yaml"} {
		results = append(results, ruletest.Run(t.Context(), file, ruletest.Options{}, nil))
	}
	var out bytes.Buffer
	if err := ruletest.WriteJUnit(&out, results); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), `time=""`) {
		t.Errorf("a time is no number:\n%s", &out)
	}
	var report struct {
		Suites []struct {
			Tests    int `xml:"tests,attr"`
			Failures int `xml:"failures,attr"`
			Errors   int `xml:"errors,attr"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal(out.Bytes(), &report); err != nil {
		t.Fatal(err)
	}
	type counts struct{ tests, failures, errors int }
	var got []counts
	for _, s := range report.Suites {
		got = append(got, counts{s.Tests, s.Failures, s.Errors})
	}
	want := []counts{{5, 0, 0}, {5, 5, 0}, {1, 0, 1}}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(counts{})); d != "" {
		t.Error(d)
	}
}

// BenchmarkCases runs the cases of an example, with the time that it takes to compile its rule. BenchmarkCommands has whole processes.
func BenchmarkCases(b *testing.B) {
	cases := 0
	for b.Loop() {
		result := ruletest.Run(b.Context(), "../../examples/webapp/rule_test.yaml", ruletest.Options{}, nil)
		cases += len(result.Cases)
	}
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(cases)*200, "ms/200cases")
}

// Conditions count with both of their sides, those of items too.
func TestCoverageOfConditions(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"x.yaml": `apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: x}
spec:
  parent: {apiVersion: v1, kind: Namespace, when: "${parent.metadata.name != 'a'}"}
  lookups: [{id: l, apiVersion: v1, kind: Node, name: l, optional: true, when: "${parent.metadata.name != 'b'}"}]
  children:
    - id: items
      forEach: [{name: i, in: "${[1, 2]}"}]
      when: ${i == 1}
      createWhen: ${parent.metadata.name != 'c'}
      updateWhen: ${parent.metadata.name != 'd'}
      template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "i-${i}", namespace: "${parent.metadata.name}"}}
  patches: [{id: p, when: "${parent.metadata.name != 'e'}", template: {metadata: {labels: {a: "${string(lookups.?l.hasValue())}"}}}}]
  events: [{when: "${parent.metadata.name != 'f'}", type: Normal, reason: A, message: a}]
`,
		"x_test.yaml": `apiVersion: kanon.dev/v1alpha1
kind: RuleTest
cases:
  - {name: one}
  - {name: created only now, parent: {metadata: {name: c}}}
`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var coverage ruletest.Coverage
	if result := ruletest.Run(t.Context(), filepath.Join(dir, "x_test.yaml"), ruletest.Options{}, &coverage); result.Failed() {
		t.Fatal(result.Err, result.Findings, result.Cases)
	}
	gaps, taken, all := coverage.Gaps()
	var got []string
	for _, gap := range gaps {
		got = append(got, gap.Message)
	}
	want := []string{
		"spec.parent.when is false in no case",
		"lookups.l.when is false in no case",
		"children.items.updateWhen is false in no case",
		"patches.p.when is false in no case",
		"spec.events[0].when is false in no case",
	}
	if d := cmp.Diff(want, got); d != "" || taken != 10 || all != 15 {
		t.Errorf("taken are %d of %d\n%s", taken, all, d)
	}
}
