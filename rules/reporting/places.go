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
	// length is 0 for that of the token that begins there.
	length int
}

// Within is the position of an offset in an expression. Findings about it span what is written there.
func (r *Reporter) Within(n *yamltree.Node, p scanner.Part, offset int) diagnostic.Position {
	offset = celenv.TokenStart(p.Text, offset)
	pos := r.source.Within(n, valueOffset(n, p.Offset+offset))
	if pos.Line > 0 {
		r.places[pos] = place{node: n, part: p, offset: offset}
	}
	return pos
}

// PlaceOf is Within for the checks of templates, of a part of an expression that takes so many bytes; 0 if that is not known.
func (r *Reporter) PlaceOf(n *yamltree.Node, p scanner.Part, offset, length int) diagnostic.Position {
	pos := r.Within(n, p, offset)
	if at, ok := r.places[pos]; ok {
		at.length = length
		r.places[pos] = at
	}
	return pos
}

// SpanOfAll is how many characters the expression takes that begins at a position.
func (r *Reporter) SpanOfAll(at diagnostic.Position) int {
	p, ok := r.places[at]
	if !ok {
		return 0
	}
	return r.source.Span(p.node, valueOffset(p.node, p.part.Offset+p.offset), len(strings.TrimRight(p.part.Text, " \n"))-p.offset)
}

// KeyAt is where a template has a field; as far as it can be followed.
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

// FieldAt is where the value of a mapping's field stands, or the mapping where
// the field has another name by mistake.
func (r *Reporter) FieldAt(n *yamltree.Node, name string) diagnostic.Position {
	if value := n.Get(name); value != nil {
		n = value
	}
	return r.source.At(n)
}

// sourceOf is the source of findings: the rule's, which knows YAML, with what was noted of expressions.
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

// valueOffset turns an offset in a node's text into one in the YAML value. A
// key's node and a scalar's are the same in this.
func valueOffset(n *yamltree.Node, offset int) int { return min(offset, len(n.Raw())) }
