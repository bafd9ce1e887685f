package explain

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// NodeKind is the kind of a node.
type NodeKind string

// The kinds of nodes.
const (
	NodeParent NodeKind = "parent"
	NodeLookup NodeKind = "lookup"
	NodeChild  NodeKind = "child"
	NodePatch  NodeKind = "patch"
	NodeStatus NodeKind = "status"
)

// GraphNode is a part of a rule.
type GraphNode struct {
	// ID is unique in the graph: parent, status, lookups.ID, ID of a child, patches.ID.
	ID   string
	Kind NodeKind
	// Name is the name in the rule, and Object the kind of the objects.
	Name, Object string
	// Notes are properties such as "when …", "for each …" and "adopts".
	Notes []string
}

// GraphEdge leads from a node to one that needs it.
type GraphEdge struct {
	From, To string
	// Waits is true if To waits until From is ready, and not only for data of From.
	Waits bool
	// Observes is true if To only reads observed objects of From, which does not order the nodes.
	Observes bool
}

// Graph is the graph of a rule. Nodes are in the order of the rule.
type Graph struct {
	Rule  string
	Nodes []GraphNode
	Edges []GraphEdge
	// Watches are the objects whose changes cause an evaluation, Reads the fields that expressions read, and Writes
	// what the rule writes. Each is sorted.
	Watches, Reads, Writes []string
}

// GraphFormat is an output format.
type GraphFormat string

// The formats.
const (
	GraphText    GraphFormat = "text"
	GraphDot     GraphFormat = "dot"
	GraphMermaid GraphFormat = "mermaid"
)

// GraphFormats lists the formats.
func GraphFormats() []string {
	return []string{string(GraphText), string(GraphDot), string(GraphMermaid)}
}

// WriteGraphs writes graphs as one document.
func WriteGraphs(w io.Writer, format GraphFormat, graphs ...*Graph) error {
	var text string
	switch format {
	case GraphText:
		texts := make([]string, len(graphs))
		for i, g := range graphs {
			texts[i] = g.text()
		}
		text = strings.Join(texts, "\n")
	case GraphDot:
		text = dot(graphs)
	case GraphMermaid:
		text = mermaid(graphs)
	default:
		return fmt.Errorf("there is no format %q: choose one of %s", format, strings.Join(GraphFormats(), ", "))
	}
	_, err := io.WriteString(w, text)
	return err
}

// needs lists the edges to a node, in the order of the nodes that they come from.
func (g *Graph) needs(id string) []GraphEdge {
	edges := slices.DeleteFunc(slices.Clone(g.Edges), func(e GraphEdge) bool { return e.To != id })
	slices.SortStableFunc(edges, func(a, b GraphEdge) int { return g.index(a.From) - g.index(b.From) })
	return edges
}

func (g *Graph) index(id string) int {
	return slices.IndexFunc(g.Nodes, func(n GraphNode) bool { return n.ID == id })
}

// label is the name of a node, and the kind of its objects.
func (n GraphNode) label() string {
	if n.Object == "" {
		return n.Name
	}
	return n.Name + "\n" + n.Object
}

// text is the graph as a table: each part, its objects and what it needs, then what the rule watches, reads and writes.
func (g *Graph) text() string {
	var rows [][3]string
	widths := [2]int{}
	for _, n := range g.Nodes {
		name := n.Name
		if n.Kind != NodeParent && n.Kind != NodeStatus {
			name = string(n.Kind) + " " + n.Name
		}
		notes := n.Notes
		var reads, observes, waits []string
		for _, e := range g.needs(n.ID) {
			if e.From == "parent" {
				continue // every node needs the parent
			}
			switch name := g.Nodes[g.index(e.From)].Name; {
			case e.Waits:
				waits = append(waits, name)
			case e.Observes:
				observes = append(observes, name)
			default:
				reads = append(reads, name)
			}
		}
		if len(waits) > 0 {
			notes = append(notes, "after "+strings.Join(waits, ", "))
		}
		if len(reads) > 0 {
			notes = append(notes, "reads "+strings.Join(reads, ", "))
		}
		if len(observes) > 0 {
			notes = append(notes, "reads observed "+strings.Join(observes, ", "))
		}
		rows = append(rows, [3]string{name, n.Object, strings.Join(notes, "; ")})
		widths[0], widths[1] = max(widths[0], len(name)), max(widths[1], len(n.Object))
	}
	var out strings.Builder
	fmt.Fprintf(&out, "rule %s\n", g.Rule)
	for _, row := range rows {
		line := fmt.Sprintf("  %-*s  %-*s  %s", widths[0], row[0], widths[1], row[1], row[2])
		out.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	for _, list := range []struct {
		title string
		items []string
	}{{"watches", g.Watches}, {"reads", g.Reads}, {"writes", g.Writes}} {
		title := list.title
		if len(list.items) > 0 && title == "watches" {
			out.WriteString("\n")
		}
		for _, item := range list.items {
			fmt.Fprintf(&out, "  %-*s  %s\n", len("watches"), title, item)
			title = ""
		}
	}
	return out.String()
}
