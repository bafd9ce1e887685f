package yamltree

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"kanon.dev/kanon/rules/diagnostic"
)

// enter records the path of a node of an object, and of all nodes below. The key of a field has the path of its value.
func (s *Source) enter(n *yaml.Node, path []string) {
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

// fieldStep returns a field as a step of a path: .name or ["other name"].
func fieldStep(name string, first bool) string {
	switch {
	case !IsPathName(name):
		return "[" + strconv.Quote(name) + "]"
	case first:
		return name
	default:
		return "." + name
	}
}

// inObject returns the position of a node of an object. For text of several lines it adds the line of the byte at
// offset.
func (s *Source) inObject(n *yaml.Node, offset int) diagnostic.Position {
	p := diagnostic.Position{File: s.name, Path: s.paths[n]}
	text := strings.TrimRight(n.Value, "\n")
	if n.Kind == yaml.ScalarNode && strings.Contains(text, "\n") && offset >= 0 && offset <= len(n.Value) {
		p.Path += fmt.Sprintf(", line %d", 1+strings.Count(n.Value[:offset], "\n"))
	}
	return p
}

// IsPathName reports whether a name needs no quotes in a path: it consists of letters, digits, _, - and $.
func IsPathName(s string) bool {
	const allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-$"
	return s != "" && strings.Trim(s, allowed) == ""
}
