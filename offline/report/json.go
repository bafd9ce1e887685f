package report

import (
	"encoding/json"
	"fmt"
	"io"

	"kanon.dev/kanon/docs"
	"kanon.dev/kanon/rules/diagnostic"
)

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
