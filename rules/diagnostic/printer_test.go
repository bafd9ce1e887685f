package diagnostic

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPrinter(t *testing.T) {
	t.Parallel()
	at := func(column int, text string) Finding {
		return Finding{
			Position: Position{File: "r.yaml", Line: 3, Column: column},
			Severity: SeverityError, Code: CodeUnknownName, Message: "wrong", Text: text,
		}
	}
	hinted := at(4, "a: bc")
	hinted.Hint = "write d"
	span := func(column, length int, text string) Finding {
		f := at(column, text)
		f.Length = length
		return f
	}
	related := func(pos Position, text string, length int) Finding {
		f := span(4, 2, "a: bc")
		f.Related = []Related{{Position: pos, Text: text, Length: length, Label: "the first one"}}
		f.Hint = "write d"
		return f
	}
	warning := at(1, "x")
	warning.Severity = SeverityWarning
	named := related(Position{File: "s.yaml", Line: 12}, "", 0)
	named.Message = "as in s.yaml:12"
	for name, test := range map[string]struct {
		printer Printer
		finding Finding
		want    string
	}{
		"hint": {finding: hinted, want: `r.yaml:3:4: error: wrong [KN0204]
    3 | a: bc
      |    ^
      hint: write d
`},
		"tabs stand below tabs": {finding: at(5, "a:\t\tb"), want: "r.yaml:3:5: error: wrong [KN0204]\n    3 | a:\t\tb\n      |   \t\t^\n"},
		"wide characters": {finding: at(6, "a: 日本x"), want: `r.yaml:3:6: error: wrong [KN0204]
    3 | a: 日本x
      |        ^
`},
		"combining characters": {finding: at(6, "a: e\u0301x"), want: "r.yaml:3:6: error: wrong [KN0204]\n    3 | a: e\u0301x\n      |     ^\n"},
		"behind the end":       {finding: at(9, "a: b"), want: "r.yaml:3:9: error: wrong [KN0204]\n    3 | a: b\n      |     ^\n"},
		"no commands to the terminal": {finding: at(7, "a: \x1b[2Jb"), want: "r.yaml:3:7: error: wrong [KN0204]\n" +
			"    3 | a: \ufffd[2Jb\n      |       ^\n"},
		"no line": {finding: Finding{Position: Position{File: "r.yaml"}, Severity: SeverityError, Code: CodeNotYAML, Message: "wrong"}, want: "r.yaml: error: wrong [KN0001]\n"},
		"long line": {
			printer: Printer{Width: 10}, finding: at(21, strings.Repeat("-", 20)+"x"+strings.Repeat("-", 20)),
			want: "r.yaml:3:21: error: wrong [KN0204]\n    3 | …-----x----…\n      |       ^\n",
		},
		"span":                    {finding: span(4, 2, "a: bc"), want: "r.yaml:3:4: error: wrong [KN0204]\n    3 | a: bc\n      |    ^~\n"},
		"span of wide characters": {finding: span(4, 2, "a: 日本x"), want: "r.yaml:3:4: error: wrong [KN0204]\n    3 | a: 日本x\n      |    ^~~~\n"},
		"span behind the end":     {finding: span(4, 9, "a: bc"), want: "r.yaml:3:4: error: wrong [KN0204]\n    3 | a: bc\n      |    ^~\n"},
		"span in a long line": {
			printer: Printer{Width: 10}, finding: span(21, 30, strings.Repeat("-", 20)+strings.Repeat("x", 30)),
			want: "r.yaml:3:21: error: wrong [KN0204]\n    3 | …-----xxxxx…\n      |       ^~~~~\n",
		},
		"second place": {
			finding: related(Position{File: "r.yaml", Line: 12, Column: 4}, "b: bc", 2),
			want:    "r.yaml:3:4: error: wrong [KN0204]\n    3 | a: bc\n      |    ^~\n   12 | b: bc\n      |    -- the first one\n      hint: write d\n",
		},
		"second place in the same line": {
			finding: related(Position{File: "r.yaml", Line: 3, Column: 1}, "a: bc", 1),
			want:    "r.yaml:3:4: error: wrong [KN0204]\n    3 | a: bc\n      |    ^~\n      | - the first one\n      hint: write d\n",
		},
		"second place in another file": {
			finding: related(Position{File: "s.yaml", Line: 12, Column: 4}, "b: bc", 2),
			want:    "r.yaml:3:4: error: wrong [KN0204]\n    3 | a: bc\n      |    ^~\n      note: s.yaml:12:4: the first one\n      hint: write d\n",
		},
		"second place that the message names": {finding: named, want: "r.yaml:3:4: error: as in s.yaml:12 [KN0204]\n    3 | a: bc\n      |    ^~\n      hint: write d\n"},
		"colours": {
			printer: Printer{Color: true}, finding: warning,
			want: "\x1b[1mr.yaml:3:1:\x1b[0m \x1b[1;33mwarning:\x1b[0m wrong [KN0204]\n\x1b[34m    3 |\x1b[0m x\n\x1b[34m      |\x1b[0m \x1b[1;33m^\x1b[0m\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var b strings.Builder
			if err := test.printer.Print(&b, Findings{test.finding}); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, b.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
