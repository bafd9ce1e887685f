package reporting

import (
	"strings"

	"kanon.dev/kanon/rules/celenv"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/scanner"
	"kanon.dev/kanon/rules/yamltree"
)

// place is an offset in an expression of a scalar.
type place struct {
	node   *yamltree.Node
	part   scanner.Part
	offset int
	// length is the length of a finding there, in bytes; 0 means that of the token.
	length int
}

// Within returns the position of an offset in an expression. Findings at that position span the token there.
func (r *Reporter) Within(n *yamltree.Node, p scanner.Part, offset int) diagnostic.Position {
	offset = celenv.TokenStart(p.Text, offset)
	pos := r.source.Within(n, valueOffset(n, p.Offset+offset))
	if pos.Line > 0 {
		r.places[pos] = place{node: n, part: p, offset: offset}
	}
	return pos
}

// PlaceOf is Within for a part of an expression with so many bytes; 0 means the token. The checks of templates use it.
func (r *Reporter) PlaceOf(n *yamltree.Node, p scanner.Part, offset, length int) diagnostic.Position {
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
