package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"kanon.dev/kanon/rules/diagnostic"
)

// writeGitHub writes a workflow command for each finding, which GitHub shows at its line.
//
//	::error file=rule.yaml,line=11,col=27,title=KN0204::unknown name "parnt"; did you mean "parent"?
func (r Report) writeGitHub(w io.Writer) error {
	for _, e := range entries(r.Findings) {
		if _, err := fmt.Fprintln(w, command(e)); err != nil {
			return fmt.Errorf("write the findings: %w", err)
		}
	}
	return nil
}

func command(e entry) string {
	name := "error"
	if e.Severity == diagnostic.SeverityWarning {
		name = "warning"
	}
	var properties []string
	add := func(key, value string) {
		if value != "" {
			properties = append(properties, key+"="+escapeProperty(value))
		}
	}
	add("file", e.File)
	if e.Line > 0 {
		add("line", strconv.Itoa(e.Line))
	}
	if e.Line > 0 && e.Column > 0 {
		add("col", strconv.Itoa(e.Column))
	}
	title := string(e.Code)
	if e.Title != "" {
		title += ": " + e.Title
	}
	add("title", title)
	lines := []string{e.Message}
	if e.Hint != "" {
		lines = append(lines, e.Hint)
	}
	for _, r := range e.Related {
		lines = append(lines, r.String()+": "+r.Label)
	}
	return "::" + strings.TrimSpace(name+" "+strings.Join(properties, ",")) + "::" + escapeMessage(strings.Join(lines, "\n"))
}

// escapeMessage escapes the characters that would end a message.
func escapeMessage(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(s)
}

// escapeProperty also escapes those that would end a property.
func escapeProperty(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C").Replace(s)
}
