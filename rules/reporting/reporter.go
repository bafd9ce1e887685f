package reporting

import (
	"errors"
	"slices"
	"strings"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/scanner"
	"kanon.dev/kanon/rules/yamltree"
)

// Reporter collects the findings in one source. It is not safe for concurrent use.
type Reporter struct {
	source *yamltree.Source
	list   diagnostic.List
	// wrongAt has the positions of the findings, except those about missing fields.
	wrongAt map[diagnostic.Position]bool
	// places has the positions that Within returned.
	places map[diagnostic.Position]place
}

// New returns a reporter without findings.
func New(source *yamltree.Source) *Reporter {
	return &Reporter{source: source, wrongAt: map[diagnostic.Position]bool{}, places: map[diagnostic.Position]place{}}
}

// Findings returns the findings, sorted.
func (r *Reporter) Findings() diagnostic.Findings { return r.list.Findings(sourceOf{r.source, r}) }

// Report reports a finding at a position.
func (r *Reporter) Report(pos diagnostic.Position, code diagnostic.Code, format string, args ...any) *diagnostic.Finding {
	switch code {
	case diagnostic.CodeIncomplete, diagnostic.CodeFieldMissing, diagnostic.CodeNamespaceRequired:
		// Their position is that of the mapping, where its first field begins too.
	default:
		r.wrongAt[pos] = true
	}
	return r.list.Report(pos, code, format, args...)
}

// ReportNode reports a finding about a node. A finding about a mapping or a list does not underline its first word.
func (r *Reporter) ReportNode(n *yamltree.Node, code diagnostic.Code, format string, args ...any) *diagnostic.Finding {
	return r.Report(r.source.At(n), code, format, args...).About(n.Kind == yamltree.Scalar)
}

// ReportAt reports a finding at an offset of a scalar.
func (r *Reporter) ReportAt(n *yamltree.Node, offset int, code diagnostic.Code, format string, args ...any) *diagnostic.Finding {
	return r.Report(r.source.Within(n, offset), code, format, args...)
}

// ReportSpan is ReportAt for a finding about so many bytes of the value.
func (r *Reporter) ReportSpan(n *yamltree.Node, offset, length int, code diagnostic.Code, format string, args ...any) *diagnostic.Finding {
	f := r.ReportAt(n, offset, code, format, args...)
	f.Length = r.source.Span(n, offset, length)
	return f
}

// ReportAround is ReportNode for a finding about the text around the expressions of a scalar. It underlines the first
// text for which is returns true.
func (r *Reporter) ReportAround(n *yamltree.Node, is func(text string) bool, code diagnostic.Code, format string, args ...any) *diagnostic.Finding {
	text, _ := n.Text()
	parts, err := scanner.Scan(text)
	i := slices.IndexFunc(parts, func(p scanner.Part) bool { return !p.Expr && is(p.Text) })
	if err != nil || i < 0 || len(parts) == 1 {
		return r.ReportNode(n, code, format, args...)
	}
	shown := strings.TrimLeft(parts[i].Text, " ")
	return r.ReportSpan(n, parts[i].Offset+len(parts[i].Text)-len(shown), len(strings.TrimRight(shown, " ")), code, format, args...)
}

// ReportScan reports the error of scanner.Scan for a scalar.
func (r *Reporter) ReportScan(n *yamltree.Node, err error) *diagnostic.Finding {
	scanErr, ok := errors.AsType[*scanner.Error](err)
	if !ok {
		return r.ReportNode(n, diagnostic.CodeNotClosed, "%s", err.Error())
	}
	f := r.ReportAt(n, scanErr.Offset, scanErr.Code, "%s", scanErr.Message)
	if f.Hint = scanErr.Hint; n.HasComment() {
		f.Hint = "what follows a blank and # is a comment in YAML: put quotes around the value"
	}
	return f
}

// Relate adds a part of the rule to a finding as a related place. It ignores nil, and the place of the
// finding itself: a YAML alias is where its anchor is.
func (r *Reporter) Relate(f *diagnostic.Finding, n *yamltree.Node, label string) *diagnostic.Finding {
	if n != nil && r.source.At(n) != f.Position {
		f.WithRelated(r.source.At(n), "%s", label)
	}
	return f
}

// Withdraw removes a finding.
func (r *Reporter) Withdraw(f *diagnostic.Finding) {
	r.list = slices.DeleteFunc(r.list, func(o *diagnostic.Finding) bool { return o == f })
}

// At returns the position of a node.
func (r *Reporter) At(n *yamltree.Node) diagnostic.Position { return r.source.At(n) }

// IsWrong reports whether a mistake was reported at a position.
func (r *Reporter) IsWrong(pos diagnostic.Position) bool { return r.wrongAt[pos] }

// Count returns the number of findings.
func (r *Reporter) Count() int { return len(r.list) }

// ErrorsSince reports whether there are errors among the findings after the first before ones.
func (r *Reporter) ErrorsSince(before int) bool {
	return slices.ContainsFunc(r.list[before:], func(f *diagnostic.Finding) bool { return f.Severity == diagnostic.SeverityError })
}
