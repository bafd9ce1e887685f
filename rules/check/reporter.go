package check

import (
	"errors"
	"slices"
	"strings"

	"kanon.dev/kanon/rules/celenv"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/yamltree"
)

// Reporter collects the findings in one source. It is not safe for concurrent use.
type Reporter struct {
	source *yamltree.Source
	list   diagnostic.List
	// wrongAt has the positions of the findings, except those about missing fields.
	wrongAt map[diagnostic.Position]bool
	// places has the positions that Within returned.
	places map[diagnostic.Position]spot
}

// NewReporter returns a reporter without findings.
func NewReporter(source *yamltree.Source) *Reporter {
	return &Reporter{source: source, wrongAt: map[diagnostic.Position]bool{}, places: map[diagnostic.Position]spot{}}
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
	parts, err := yamltree.Scan(text)
	i := slices.IndexFunc(parts, func(p yamltree.Part) bool { return !p.Expr && is(p.Text) })
	if err != nil || i < 0 || len(parts) == 1 {
		return r.ReportNode(n, code, format, args...)
	}
	shown := strings.TrimLeft(parts[i].Text, " ")
	return r.ReportSpan(n, parts[i].Offset+len(parts[i].Text)-len(shown), len(strings.TrimRight(shown, " ")), code, format, args...)
}

// ReportScan reports the error of yamltree.Scan for a scalar.
func (r *Reporter) ReportScan(n *yamltree.Node, err error) *diagnostic.Finding {
	scanErr, ok := errors.AsType[*yamltree.ScanError](err)
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

// spot is an offset in an expression of a scalar.
type spot struct {
	node   *yamltree.Node
	part   yamltree.Part
	offset int
	// length is the length of a finding there, in bytes; 0 means that of the token.
	length int
}

// Within returns the position of an offset in an expression. Findings at that position span the token there.
func (r *Reporter) Within(n *yamltree.Node, p yamltree.Part, offset int) diagnostic.Position {
	offset = celenv.TokenStart(p.Text, offset)
	pos := r.source.Within(n, valueOffset(n, p.Offset+offset))
	if pos.Line > 0 {
		r.places[pos] = spot{node: n, part: p, offset: offset}
	}
	return pos
}

// PlaceOf is Within for a part of an expression with so many bytes; 0 means the token. The checks of templates use it.
func (r *Reporter) PlaceOf(n *yamltree.Node, p yamltree.Part, offset, length int) diagnostic.Position {
	pos := r.Within(n, p, offset)
	if at, ok := r.places[pos]; ok {
		at.length = length
		r.places[pos] = at
	}
	return pos
}

// SpanOfAll returns the number of characters from a position to the end of its expression.
func (r *Reporter) SpanOfAll(at diagnostic.Position) int {
	p, ok := r.places[at]
	if !ok {
		return 0
	}
	return r.source.Span(p.node, valueOffset(p.node, p.part.Offset+p.offset), len(strings.TrimRight(p.part.Text, " \n"))-p.offset)
}

// KeyAt returns the position of the key at a path of a template, or of the longest prefix of the path that exists.
func (r *Reporter) KeyAt(n *yamltree.Node, path []string) diagnostic.Position {
	var pos diagnostic.Position
	for _, name := range path {
		if n == nil {
			break
		}
		key, value := n.Step(name)
		if key == nil {
			break
		}
		pos, n = r.source.At(key), value
	}
	return pos
}

// FieldAt returns the position of the value of a mapping's field, or of the mapping if it lacks the field.
func (r *Reporter) FieldAt(n *yamltree.Node, name string) diagnostic.Position {
	if value := n.Get(name); value != nil {
		n = value
	}
	return r.source.At(n)
}

// sourceOf is the source of findings: the rule's source, with the spans of expressions.
type sourceOf struct {
	*yamltree.Source
	r *Reporter
}

// SpanAt implements diagnostic.Source.
func (s sourceOf) SpanAt(at diagnostic.Position) int {
	p, ok := s.r.places[at]
	if !ok {
		return s.Source.SpanAt(at)
	}
	length := p.length
	if length == 0 {
		length = celenv.TokenLength(p.part.Text, p.offset)
	}
	return s.Span(p.node, valueOffset(p.node, p.part.Offset+p.offset), length)
}

// valueOffset bounds an offset in a node's text by the length of its YAML value.
func valueOffset(n *yamltree.Node, offset int) int { return min(offset, len(n.Raw())) }
