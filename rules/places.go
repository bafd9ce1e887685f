package rules

import (
	"strings"

	"kanon.dev/kanon/rules/celenv"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/syntax"
	"kanon.dev/kanon/rules/yamltree"
)

// place is an offset in an expression of a scalar.
type place struct {
	node   *yamltree.Node
	part   syntax.Part
	offset int
	// length is 0 for that of the token that begins there.
	length int
}

// within is the position of an offset in an expression. Findings about it span what is written there.
func (c *compiler) within(n *yamltree.Node, p syntax.Part, offset int) diagnostic.Position {
	pos := c.rule.Source.Within(n, c.valueOffset(n, p.Offset+offset))
	if pos.Line > 0 {
		c.places[pos] = place{node: n, part: p, offset: offset}
	}
	return pos
}

// PlaceOf is within for the checks of templates, of a part of an expression that takes so many bytes; 0 if that is not known.
func (c *compiler) PlaceOf(n *yamltree.Node, p syntax.Part, offset, length int) diagnostic.Position {
	pos := c.within(n, p, offset)
	if at, ok := c.places[pos]; ok {
		at.length = length
		c.places[pos] = at
	}
	return pos
}

// spanOfAll is how many characters the expression takes that begins at a position.
func (c *compiler) spanOfAll(at diagnostic.Position) int {
	p, ok := c.places[at]
	if !ok {
		return 0
	}
	return c.rule.Source.Span(p.node, c.valueOffset(p.node, p.part.Offset+p.offset), len(strings.TrimRight(p.part.Text, " \n"))-p.offset)
}

// keyAt is where a template has a field; as far as it can be followed.
func (c *compiler) keyAt(n *yamltree.Node, path []string) diagnostic.Position {
	var pos diagnostic.Position
	for _, name := range path {
		if n == nil {
			break
		}
		key, value := n.Step(name)
		if key == nil {
			break
		}
		pos, n = c.rule.Source.At(key), value
	}
	return pos
}

// sourceOf is the source of findings: the rule's, which knows YAML, with what the compiler knows of expressions.
type sourceOf struct {
	*yamltree.Source
	c *compiler
}

// SpanAt implements diagnostic.Source.
func (s sourceOf) SpanAt(at diagnostic.Position) int {
	p, ok := s.c.places[at]
	if !ok {
		return s.Source.SpanAt(at)
	}
	length := p.length
	if length == 0 {
		length = celenv.TokenLength(p.part.Text, p.offset)
	}
	return s.Span(p.node, s.c.valueOffset(p.node, p.part.Offset+p.offset), length)
}
