package report

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"

	"kanon.dev/kanon/rules/diagnostic"
)

// entry is a finding in JSON.
type entry struct {
	diagnostic.Finding
	// Title is that of the code.
	Title string `json:"title,omitempty"`
	// Docs is the section that explains the code: a path in Kanon's repository.
	Docs string `json:"docs,omitempty"`
}

// entries are findings with what their codes mean. No findings are an empty list.
func entries(findings diagnostic.Findings) []entry {
	titles := make(map[diagnostic.Code]string)
	for _, info := range diagnostic.Codes() {
		titles[info.Code] = info.Title
	}
	all := make([]entry, len(findings))
	for i, f := range findings {
		all[i] = entry{Finding: f, Title: titles[f.Code], Docs: section(f.Code, titles[f.Code])}
	}
	return all
}

// section is the place in docs/findings.md that explains a code, by the anchor that Markdown gives its heading.
func section(code diagnostic.Code, title string) string {
	if title == "" {
		return ""
	}
	anchor := strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
			return unicode.ToLower(r)
		default:
			return -1
		}
	}, string(code)+" "+title)
	return "docs/findings.md#" + anchor
}

func writeJSON(w io.Writer, value any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(value); err != nil {
		return fmt.Errorf("write the findings: %w", err)
	}
	return nil
}
