package shortschema

import (
	"slices"
	"strconv"
	"strings"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/yamltree"
)

// Places maps paths of the definition to positions in the rule.
type Places struct {
	source *yamltree.Source
	// of has the places by placeKey.
	of map[string]place
}

func newPlaces(source *yamltree.Source) Places { return Places{source: source, of: map[string]place{}} }

type place struct {
	at diagnostic.Position
	// node is the scalar that has an expression, from the byte offset of its value on. It is nil for everything else.
	node   *yamltree.Node
	offset int
}

// Place returns the position in the rule for a path of the definition, or else for its longest known prefix. offset is
// the byte in an expression at that path. Place returns false if no prefix is known.
func (p *Places) Place(path []string, offset int) (diagnostic.Position, bool) {
	for n := len(path); n > 0; n-- {
		found, ok := p.of[placeKey(path[:n])]
		switch {
		case !ok:
			continue
		case found.node != nil && n == len(path) && offset > 0:
			return p.source.Within(found.node, found.offset+offset), true
		}
		return found.at, true
	}
	return diagnostic.Position{}, false
}

func placeKey(path []string) string { return strings.Join(path, "\x00") }

// Mark records the position in the rule for a path of the definition.
func (p *Places) Mark(at diagnostic.Position, path ...string) {
	p.of[placeKey(path)] = place{at: at}
}

// MarkText is Mark for an expression, which begins at the byte offset of a scalar's value.
func (p *Places) MarkText(n *yamltree.Node, offset int, path ...string) {
	p.of[placeKey(path)] = place{at: p.source.Within(n, offset), node: n, offset: offset}
}

// markAll records the positions of a node and of all nodes below it, which the definition has unchanged.
func (p *Places) markAll(n *yamltree.Node, path []string) {
	p.Mark(p.source.At(n), path...)
	for _, f := range n.Fields {
		p.markAll(f.Value, append(slices.Clone(path), f.Name))
	}
	for i, item := range n.Items {
		p.markAll(item, append(slices.Clone(path), strconv.Itoa(i)))
	}
}
