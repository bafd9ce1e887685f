package diagnostic

import (
	"fmt"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The first findings are listed in their order, and the last one counts the others.
func TestMoreFindings(t *testing.T) {
	t.Parallel()
	var list List
	for i := range 9000 {
		list.Report(Position{File: "f", Line: 9000 - i}, CodeUnknownField, "field %d", 9000-i)
	}
	findings := list.Findings(lineSource(func(p Position) string { return fmt.Sprintf("line %d", p.Line) }))
	if len(findings) != maxFindings+1 {
		t.Fatalf("%d findings", len(findings))
	}
	for i, f := range findings[:maxFindings] {
		if want := fmt.Sprintf("field %d", i+1); f.Message != want || f.Line != i+1 || f.Text != fmt.Sprintf("line %d", i+1) {
			t.Errorf("%s, want %s", f, want)
		}
	}
	last := findings[maxFindings]
	if last.Code != CodeMoreErrors || last.Message != "and 8,900 more errors" || last.Line != maxFindings+1 || last.Count() != 8900 {
		t.Errorf("the last is %s", last)
	}
	twice := slices.Concat(findings, findings[:maxFindings]).Shortened()
	if n := twice[len(twice)-1].Count(); n != 9000 {
		t.Errorf("shortened again, there are %d more", n)
	}
}

// Among many warnings, an error is still listed, and so is each missing kind.
func TestShortenedKeepsWhatCounts(t *testing.T) {
	t.Parallel()
	var all Findings
	gvk := schema.GroupVersionKind{Kind: "A"}
	for i := range 1000 {
		all = append(all, Finding{Position: Position{Line: i + 1}, Severity: SeverityWarning, Code: CodeConstant, Message: "w"})
	}
	all = append(all, Finding{Position: Position{Line: 2000}, Severity: SeverityError, Code: CodeUnknownKind, Message: "e", Missing: &gvk})
	short := all.Shortened()
	if len(short) != maxFindings+2 || !short.HasErrors() || !slices.ContainsFunc(short, func(f Finding) bool { return f.Missing != nil }) {
		t.Errorf("%d findings, errors: %t", len(short), short.HasErrors())
	}
	if more := short[maxFindings]; more.Code != CodeMoreWarnings || more.Message != "and 900 more warnings" {
		t.Errorf("got %s", more)
	}
	if got := all[:maxFindings].Shortened(); len(got) != maxFindings {
		t.Errorf("%d of %d findings", len(got), maxFindings)
	}
}
