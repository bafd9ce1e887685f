package graph

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// Kind is the kind of a node.
type Kind string

// The kinds of nodes.
const (
	Parent Kind = "parent"
	Lookup Kind = "lookup"
	Child  Kind = "child"
	Patch  Kind = "patch"
	Status Kind = "status"
)

// Node is a part of a rule.
type Node struct {
	// ID is unique in the graph: parent, status, lookups.ID, ID of a child, patches.ID.
	ID   string
	Kind Kind
	// Name is the name in the rule, and Object the kind of the objects.
	Name, Object string
	// Notes are properties such as "when …", "for each …" and "adopts".
	Notes []string
}

// Edge leads from a node to one that needs it.
type Edge struct {
	From, To string
	// Waits is true if To waits until From is ready, and not only for data of From.
	Waits bool
	// Observes is true if To only reads observed objects of From, which does not order the nodes.
	Observes bool
}

// Graph is the graph of a rule. Nodes are in the order of the rule.
type Graph struct {
	Rule  string
	Nodes []Node
	Edges []Edge
	// Watches are the objects whose changes cause an evaluation, Reads the fields that expressions read, and Writes
	// what the rule writes. Each is sorted.
	Watches, Reads, Writes []string
}

// Format is an output format.
type Format string

// The formats.
const (
	Text    Format = "text"
	Dot     Format = "dot"
	Mermaid Format = "mermaid"
	SVG     Format = "svg"
)

// Formats lists the formats.
func Formats() []string { return []string{string(Text), string(Dot), string(Mermaid), string(SVG)} }

// Write writes the graph. The error says that the format does not exist, or is that of w.
func (g *Graph) Write(w io.Writer, format Format) error { return Write(w, format, g) }

// Write writes graphs as one document.
func Write(w io.Writer, format Format, graphs ...*Graph) error {
	var text string
	switch format {
	case Text:
		texts := make([]string, len(graphs))
		for i, g := range graphs {
			texts[i] = g.text()
		}
		text = strings.Join(texts, "\n")
	case Dot:
		text = dot(graphs)
	case Mermaid:
		text = mermaid(graphs)
	case SVG:
		text = svg(graphs)
	default:
		return fmt.Errorf("there is no format %q: choose one of %s", format, strings.Join(Formats(), ", "))
	}
	_, err := io.WriteString(w, text)
	return err
}

// needs lists the edges to a node, in the order of the nodes that they come from.
func (g *Graph) needs(id string) []Edge {
	edges := slices.DeleteFunc(slices.Clone(g.Edges), func(e Edge) bool { return e.To != id })
	slices.SortStableFunc(edges, func(a, b Edge) int { return g.index(a.From) - g.index(b.From) })
	return edges
}

func (g *Graph) index(id string) int {
	return slices.IndexFunc(g.Nodes, func(n Node) bool { return n.ID == id })
}

// label is the name of a node, and the kind of its objects.
func (n Node) label() string {
	if n.Object == "" {
		return n.Name
	}
	return n.Name + "\n" + n.Object
}
