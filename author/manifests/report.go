package manifests

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"kanon.dev/kanon/docs"
	"kanon.dev/kanon/rules/diagnostic"
)

// ReportFormat is an output format for findings.
type ReportFormat string

// The formats.
const (
	ReportText   ReportFormat = "text"
	ReportJSON   ReportFormat = "json"
	ReportSARIF  ReportFormat = "sarif"
	ReportGitHub ReportFormat = "github"
)

// ReportFormats lists all formats, the default first.
func ReportFormats() []string {
	return []string{string(ReportText), string(ReportJSON), string(ReportSARIF), string(ReportGitHub)}
}

// Report is a set of findings to write.
type Report struct {
	Findings diagnostic.Findings
	// Summary is the last line of the text and of GitHub's form. It may be empty.
	Summary string
	// Version is the version of the program, for SARIF.
	Version string
	// Color adds ANSI colours to the text.
	Color bool
}

// Write writes the report. The error is that of w, or names a format that does not exist.
func (r Report) Write(w io.Writer, format ReportFormat) error {
	switch format {
	case ReportText:
		if err := (diagnostic.Printer{Color: r.Color}).Print(w, r.Findings); err != nil {
			return err
		}
		return r.writeSummary(w)
	case ReportJSON:
		return writeJSON(w, entries(r.Findings))
	case ReportSARIF:
		return writeJSON(w, r.sarif())
	case ReportGitHub:
		if err := r.writeGitHub(w); err != nil {
			return err
		}
		return r.writeSummary(w)
	default:
		return fmt.Errorf("there is no format %q", format)
	}
}

func (r Report) writeSummary(w io.Writer) error {
	if r.Summary == "" {
		return nil
	}
	if _, err := fmt.Fprintln(w, r.Summary); err != nil {
		return fmt.Errorf("print the summary: %w", err)
	}
	return nil
}

// entry is a finding in JSON.
type entry struct {
	diagnostic.Finding
	// Title is the title of the code.
	Title string `json:"title,omitempty"`
	// Docs is the section that explains the code, as a path in Kanon's repository.
	Docs string `json:"docs,omitempty"`
}

// entries adds titles and documentation to findings. It is never nil, so that no findings are an empty list in JSON.
func entries(findings diagnostic.Findings) []entry {
	titles := make(map[diagnostic.Code]string)
	for _, info := range diagnostic.Codes() {
		titles[info.Code] = info.Title
	}
	all := make([]entry, len(findings))
	for i, f := range findings {
		all[i] = entry{Finding: f, Title: titles[f.Code], Docs: docs.FindingPlace(string(f.Code))}
	}
	return all
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

// ExplainCode prints the reference section of a code. The error is that of w, or an *UnknownCodeError.
func ExplainCode(w io.Writer, code string) error {
	codes := diagnostic.Codes()
	i := slices.IndexFunc(codes, func(info diagnostic.CodeInfo) bool { return strings.EqualFold(string(info.Code), code) })
	if i < 0 {
		return &UnknownCodeError{Code: code}
	}
	info := codes[i]
	page, _ := docs.Finding(string(info.Code)) // each code has a section, which a test checks
	if _, err := fmt.Fprintf(w, "%s: %s (%s)\n\n%s", info.Code, info.Title, info.Severity, docs.Plain(page)); err != nil {
		return fmt.Errorf("print the explanation: %w", err)
	}
	return nil
}

// UnknownCodeError reports a code that does not exist.
type UnknownCodeError struct{ Code string }

func (e *UnknownCodeError) Error() string {
	var names []string
	for _, info := range diagnostic.Codes() {
		names = append(names, string(info.Code))
	}
	hint := diagnostic.DidYouMean(e.Code, names)
	if hint == "" {
		hint = "codes are such as KN0204"
	}
	return fmt.Sprintf("there is no code %q; %s", e.Code, hint)
}
