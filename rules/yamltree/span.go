package yamltree

import (
	"go.yaml.in/yaml/v3"

	"kanon.dev/kanon/rules/diagnostic"
)

// SpanAt returns the number of characters of the scalar, with its quotes, that begins at a position which At returned.
// It returns 0 for a scalar of several lines, and for every other position.
func (s *Source) SpanAt(p diagnostic.Position) int {
	s.spanning.Do(func() {
		s.spans = make(map[diagnostic.Position]int)
		for _, root := range s.roots {
			s.noteSpans(root)
		}
	})
	span := s.spans[p]
	for _, in := range s.inners {
		span = max(span, in.SpanAt(p))
	}
	return span
}

// noteSpans records the spans of the scalars of a tree.
func (s *Source) noteSpans(n *yaml.Node) {
	if n.Kind == yaml.ScalarNode {
		if span := s.spanOf(n); span > 0 {
			s.spans[s.at(n)] = span
		}
	}
	for _, below := range n.Content {
		s.noteSpans(below)
	}
}

// spanOf returns the number of characters of a scalar, with its quotes; 0 if it has several lines.
func (s *Source) spanOf(n *yaml.Node) int {
	if s.paths != nil {
		return 0
	}
	from, to := s.at(n), s.within(n, len(n.Value))
	if from.Line != to.Line || to.Column <= from.Column || n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		return 0
	}
	if n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0 {
		to.Column++
	}
	return to.Column - from.Column
}

// Span returns the number of characters in the source of length bytes of a scalar's value, from offset on. It returns 0
// if they are on several lines.
func (s *Source) Span(n *Node, offset, length int) int {
	from, to := s.Within(n, offset), s.Within(n, offset+length)
	if text, ok := n.Text(); !ok || s.paths != nil || from.Line != to.Line || offset+length > len(text) {
		return 0
	}
	return max(to.Column-from.Column, 0)
}
