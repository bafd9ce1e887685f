package diagnostic

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// fixed has the lines of a source added to findings, and makes their fixes.
func fixed(text string, findings ...*Finding) (string, int) {
	lines := offsets(text)
	found := List(findings).Findings(lineSource(func(p Position) string {
		line, _, _ := CutLine(text[lines[p.Line-1]:])
		return line
	}))
	out, done := found.Fixed([]byte(text))
	return string(out), len(done)
}

func TestFixed(t *testing.T) {
	t.Parallel()
	at := func(line, column int) *Finding {
		return New(Position{File: "a", Line: line, Column: column}, CodeUnknownName, "unknown %d:%d", line, column)
	}
	for name, c := range map[string]struct {
		text     string
		findings []*Finding
		want     string
		done     int
	}{
		"nothing to do":     {text: "a: b\n", findings: []*Finding{at(1, 1)}, want: "a: b\n"},
		"a name":            {text: "a: parnt # x\n", findings: []*Finding{at(1, 4).Suggest("parnt", []string{"parent", "now"})}, want: "a: parent # x\n", done: 1},
		"no name is near":   {text: "a: parnt\n", findings: []*Finding{at(1, 4).Suggest("parnt", []string{"now"})}, want: "a: parnt\n"},
		"a name in quotes":  {text: "a: 'parnt'\n", findings: []*Finding{at(1, 4).WithEdit(Position{Line: 1, Column: 4}, "parnt", "parent")}, want: "a: 'parent'\n", done: 1},
		"escaped text":      {text: `a: "p\u0061rnt"`, findings: []*Finding{at(1, 4).WithEdit(Position{Line: 1, Column: 4}, "parnt", "parent")}, want: `a: "p\u0061rnt"`},
		"characters":        {text: ByteOrderMark + "ü: é\r\nüü: xé", findings: []*Finding{at(2, 5).WithEdit(Position{Line: 2, Column: 5}, "xé", "y"), at(1, 4).WithEdit(Position{Line: 1, Column: 4}, "é", "")}, want: ByteOrderMark + "ü: \r\nüü: y", done: 2},
		"inserted at ends":  {text: "a\nb", findings: []*Finding{at(1, 2).WithEdit(Position{Line: 1, Column: 2}, "", "x"), at(2, 1).WithEdit(Position{Line: 2, Column: 1}, "", "y")}, want: "ax\nyb", done: 2},
		"several edits":     {text: "a: b\n", findings: []*Finding{at(1, 4).WithEdit(Position{Line: 1, Column: 4}, "", "f(").WithEdit(Position{Line: 1, Column: 5}, "", ")")}, want: "a: f(b)\n", done: 1},
		"the same twice":    {text: "a: b\n", findings: []*Finding{at(1, 4).WithEdit(Position{Line: 1, Column: 4}, "b", "c"), at(1, 1).WithEdit(Position{Line: 1, Column: 4}, "b", "c")}, want: "a: c\n", done: 2},
		"two for one place": {text: "a: b\n", findings: []*Finding{at(1, 1).WithEdit(Position{Line: 1, Column: 4}, "b", "c"), at(1, 4).WithEdit(Position{Line: 1, Column: 4}, "b", "d")}, want: "a: c\n", done: 1},
		"one of two edits":  {text: "a: b\n", findings: []*Finding{at(1, 1).WithEdit(Position{Line: 1, Column: 4}, "b", "c").WithEdit(Position{Line: 1, Column: 1}, "x", "y")}, want: "a: b\n"},
		"an object":         {text: "a: b\n", findings: []*Finding{at(1, 1).WithEdit(Position{Line: 1, Column: 4, Path: "spec"}, "b", "c")}, want: "a: b\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, done := fixed(c.text, c.findings...)
			if got != c.want || done != c.done {
				t.Errorf("%q, %d fixed; want %q, %d", got, done, c.want, c.done)
			}
		})
	}
}

func TestFixTitle(t *testing.T) {
	t.Parallel()
	got := []string{titleOf("a", "b"), titleOf("", "b"), titleOf("a", "")}
	if diff := cmp.Diff([]string{`replace "a" with "b"`, `insert "b"`, `remove "a"`}, got); diff != "" {
		t.Error(diff)
	}
}

// lineSource is a source whose spans are not known.
type lineSource func(Position) string

func (s lineSource) LineAt(at Position) string { return s(at) }

func (s lineSource) ShownAt(at Position) string { return s(at) }

func (lineSource) SpanAt(Position) int { return 0 }
