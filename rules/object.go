package rules

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"kanon.dev/kanon/rules/diagnostic"
)

// enter notes where a node of an object is, and where all below it are. The key of a mapping is where its value is.
func (s *source) enter(n *yaml.Node, path []string) {
	s.paths[n] = strings.Join(path, "")
	below := func(c *yaml.Node, step string) {
		s.enter(c, append(slices.Clip(path), step))
	}
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			key, value := n.Content[i], n.Content[i+1]
			step := fieldStep(key.Value, len(path) == 0)
			below(key, step)
			below(value, step)
		}
	case yaml.SequenceNode:
		for i, item := range n.Content {
			below(item, "["+strconv.Itoa(i)+"]")
		}
	}
}

// fieldStep is the name of a field as it stands in a path.
func fieldStep(name string, first bool) string {
	switch {
	case !isPathName(name):
		return "[" + quoted(name) + "]"
	case first:
		return name
	default:
		return "." + name
	}
}

// inObject is where a node of an object is; with the line of the byte at offset, where it is a text of several lines.
func (s *source) inObject(n *yaml.Node, offset int) diagnostic.Position {
	p := diagnostic.Position{File: s.name, Path: s.paths[n]}
	text := strings.TrimRight(n.Value, "\n")
	if n.Kind == yaml.ScalarNode && strings.Contains(text, "\n") && offset >= 0 && offset <= len(n.Value) {
		p.Path += fmt.Sprintf(", line %d", 1+strings.Count(n.Value[:offset], "\n"))
	}
	return p
}
