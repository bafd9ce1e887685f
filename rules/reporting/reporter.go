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
	// wrongAt are the places of the findings, but for those about what is not there.
	wrongAt map[diagnostic.Position]bool
	// places has the positions in expressions that were asked for.
	places map[diagnostic.Position]place
}

// New returns a reporter without findings.
func New(source *yamltree.Source) *Reporter {
	return &Reporter{source: source, wrongAt: map[diagnostic.Position]bool{}, places: map[diagnostic.Position]place{}}
}

// Findings are all that was reported, sorted.
func (r *Reporter) Findings() diagnostic.Findings { return r.list.Findings(sourceOf{r.source, r}) }

// Report reports something at a position.
func (r *Reporter) Report(pos diagnostic.Position, code diagnostic.Code, format string, args ...any) *diagnostic.Finding {
	switch code {
	case diagnostic.CodeIncomplete, diagnostic.CodeFieldMissing, diagnostic.CodeNamespaceRequired:
		// They stand where the mapping begins, and so does its first field.
	default:
		r.wrongAt[pos] = true
	}
	return r.list.Report(pos, code, format, args...)
}

// ReportNode reports something about a node. What is about a mapping or a list is not about its first word.
func (r *Reporter) ReportNode(n *yamltree.Node, code diagnostic.Code, format string, args ...any) *diagnostic.Finding {
	return r.Report(r.source.At(n), code, format, args...).About(n.Kind == yamltree.Scalar)
}

// ReportAt reports something at an offset of a scalar.
func (r *Reporter) ReportAt(n *yamltree.Node, offset int, code diagnostic.Code, format string, args ...any) *diagnostic.Finding {
	return r.Report(r.source.Within(n, offset), code, format, args...)
}

// ReportSpan is ReportAt for something that takes so many bytes of the value.
func (r *Reporter) ReportSpan(n *yamltree.Node, offset, length int, code diagnostic.Code, format string, args ...any) *diagnostic.Finding {
	f := r.ReportAt(n, offset, code, format, args...)
	f.Length = r.source.Span(n, offset, length)
	return f
}

// ReportAround is ReportNode for a finding about what stands around the expressions of a scalar: the first of it for which is is true.
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

// ReportScan reports a scalar whose ${…} cannot be told from the text around them.
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

// Relate shows a part of the rule that a finding follows from; nothing if there is none.
func (r *Reporter) Relate(f *diagnostic.Finding, n *yamltree.Node, label string) *diagnostic.Finding {
	if n != nil {
		f.WithRelated(r.source.At(n), "%s", label)
	}
	return f
}

// Withdraw takes a finding back.
func (r *Reporter) Withdraw(f *diagnostic.Finding) {
	r.list = slices.DeleteFunc(r.list, func(o *diagnostic.Finding) bool { return o == f })
}

// At is where a node stands.
func (r *Reporter) At(n *yamltree.Node) diagnostic.Position { return r.source.At(n) }

// IsWrong reports whether a mistake was reported at a position.
func (r *Reporter) IsWrong(pos diagnostic.Position) bool { return r.wrongAt[pos] }

// Count is how many findings there are.
func (r *Reporter) Count() int { return len(r.list) }

// ErrorsSince reports whether there are errors among the findings from so many on.
func (r *Reporter) ErrorsSince(before int) bool {
	return slices.ContainsFunc(r.list[before:], func(f *diagnostic.Finding) bool { return f.Severity == diagnostic.SeverityError })
}
