package report

import (
	"fmt"
	"io"

	"kanon.dev/kanon/rules/diagnostic"
)

// Format is an output format for findings.
type Format string

// The formats.
const (
	Text   Format = "text"
	JSON   Format = "json"
	SARIF  Format = "sarif"
	GitHub Format = "github"
)

// Formats lists all formats, the default first.
func Formats() []Format { return []Format{Text, JSON, SARIF, GitHub} }

// Report is a set of findings to write.
type Report struct {
	Findings diagnostic.Findings
	// Summary is the last line of Text and GitHub. It may be empty.
	Summary string
	// Version is the version of the program, for SARIF.
	Version string
	// Color adds ANSI colours to Text.
	Color bool
}

// Write writes the report. The error is that of w, or names a format that does not exist.
func (r Report) Write(w io.Writer, format Format) error {
	switch format {
	case Text:
		if err := (diagnostic.Printer{Color: r.Color}).Print(w, r.Findings); err != nil {
			return err
		}
		return r.writeSummary(w)
	case JSON:
		return writeJSON(w, entries(r.Findings))
	case SARIF:
		return writeJSON(w, r.sarif())
	case GitHub:
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
