package provenance

import (
	"strings"
	"unicode/utf8"

	"kanon.dev/kanon/rules/program/parentstatus"
	"kanon.dev/kanon/rules/program/template"
	"kanon.dev/kanon/rules/syntax"
	"kanon.dev/kanon/rules/yamltree"
)

// span is the position of a node in the rule, and its length if the node ends on that line.
func (t *Tracer) span(n *yamltree.Node) *Source {
	source := t.rule.Source
	s := &Source{Position: source.At(n)}
	if s.Line == 0 {
		s.Text = n.Raw()
		return s
	}
	s.Text = source.ShownAt(s.Position)
	if n.Kind != yamltree.Scalar {
		return s
	}
	rest := []rune(s.Text)
	rest = rest[min(max(s.Column-1, 0), len(rest)):]
	if end := source.Within(n, len(n.Raw())); end.Line == s.Line && end.Column > s.Column {
		s.Length = end.Column - s.Column
		if rest[0] == '"' || rest[0] == '\'' {
			s.Length++
		}
		return s
	}
	if len(rest) > 0 && (rest[0] == '>' || rest[0] == '|') { // a block string starts on the next line
		if first := source.Within(n, 0); first.Line > s.Line {
			*s = Source{Position: first, Text: source.ShownAt(first)}
			rest = []rune(s.Text)[min(max(first.Column-1, 0), utf8.RuneCountInString(s.Text)):]
		}
	}
	s.Length = utf8.RuneCountInString(strings.TrimRight(string(rest), " \t"))
	return s
}

// conditionPart is a field of a condition, with its template and rendered value.
type conditionPart struct {
	name     string
	node     *yamltree.Node
	template template.Template
	value    any
}

func conditionParts(spec syntax.Condition, compiled parentstatus.ConditionTemplate, rendered parentstatus.Condition) []conditionPart {
	return []conditionPart{
		{"status", spec.Status, compiled.Status, rendered.Status},
		{"reason", spec.Reason, compiled.Reason, rendered.Reason},
		{"message", spec.Message, compiled.Message, rendered.Message},
	}
}
