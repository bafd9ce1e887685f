package graph

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// Kind is what a node stands for.
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
	// Name is what the rule calls it, and Object the kind of its objects.
	Name, Object string
	// Notes say under which conditions it exists and how it is written: "when …", "for each …", "adopts".
	Notes []string
}

// Edge leads from what is needed to what needs it.
type Edge struct {
	From, To string
	// Waits is true if To waits until From is ready, and not only for the data that it reads.
	Waits bool
	// Observes is true if To reads From as it was observed, which orders nothing.
	Observes bool
}

// Graph is the graph of a rule. Nodes are in the order of the rule.
type Graph struct {
	Rule  string
	Nodes []Node
	Edges []Edge
	// Watches are the objects whose changes have the rule evaluated, Reads the fields that its expressions read, and Writes what it
	// writes. Each is sorted.
	Watches, Reads, Writes []string
}

// Format is how a graph is written.
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

// Write writes the graph. The error says that there is no such format, or that the writer failed.
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

// needs lists what a node needs, in the order of the nodes.
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
