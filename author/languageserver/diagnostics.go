package languageserver

import (
	"cmp"
	"slices"

	findings "kanon.dev/kanon/rules/diagnostic"
)

// diagnosticsOf converts the findings of a text for the editor.
func diagnosticsOf(t *text, all findings.Findings) []problem {
	out := []problem{}
	for _, f := range all {
		if f.File == pathOf(t.uri) {
			out = append(out, diagnosticOf(t, f))
		}
	}
	return out
}

func diagnosticOf(t *text, f findings.Finding) problem {
	d := problem{
		Range: t.span(max(f.Line, 1), max(f.Column, 1), max(f.Length, 1)), Severity: 1,
		Code: string(f.Code), Source: "kanon", Message: f.Message,
	}
	if f.Hint != "" {
		d.Message += "\n" + f.Hint
	}
	if f.Severity == findings.SeverityWarning {
		d.Severity = 2
	}
	for _, r := range f.Related {
		if r.File == f.File && r.Line > 0 {
			d.RelatedInformation = append(d.RelatedInformation, relatedInformation{
				Location: location{URI: t.uri, Range: t.span(r.Line, r.Column, max(r.Length, 1))}, Message: r.Label,
			})
		}
	}
	return d
}

// actions answers textDocument/codeAction: the fixes of findings in a range.
func actions(t *text, all findings.Findings, in textRange) []codeAction {
	out := []codeAction{}
	for _, f := range all {
		if f.Fix == nil || f.File != pathOf(t.uri) {
			continue
		}
		d := diagnosticOf(t, f)
		if before(d.Range.End, in.Start) || before(in.End, d.Range.Start) {
			continue
		}
		edits := make([]textEdit, len(f.Fix.Edits))
		for i, e := range f.Fix.Edits {
			edits[i] = textEdit{Range: t.span(e.Line, e.Column, len([]rune(e.Old))), NewText: e.New}
		}
		out = append(out, codeAction{
			Title: f.Fix.Title, Kind: "quickfix", Diagnostics: []problem{d}, IsPreferred: true,
			Edit: workspaceEdit{Changes: map[string][]textEdit{t.uri: edits}},
		})
	}
	return slices.Clip(out)
}

func before(a, b position) bool {
	return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Character, b.Character)) < 0
}
