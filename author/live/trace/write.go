package trace

import (
	"fmt"
	"io"
	"strings"

	"kanon.dev/kanon/author/explain"
	"kanon.dev/kanon/author/live"
)

// Format is an output format.
type Format string

// The output formats.
const (
	Tree    Format = "tree"
	Wide    Format = "wide"
	JSON    Format = "json"
	YAML    Format = "yaml"
	Dot     Format = "dot"
	Mermaid Format = "mermaid"
)

// Formats returns the names of the output formats.
func Formats() []string {
	return []string{string(Tree), string(Wide), string(JSON), string(YAML), string(Dot), string(Mermaid)}
}

// Write writes the tree. The error reports an unknown format, or a failure of the writer.
func (n *Node) Write(w io.Writer, format Format, s Style) error {
	var out string
	whole := n
	if !s.All {
		n = n.folded()
	}
	switch format {
	case Tree:
		out = text(n, s)
	case Wide:
		out = wide(n, s)
	case JSON, YAML:
		return explain.WriteAs(w, string(format), whole)
	case Dot, Mermaid:
		return explain.WriteGraphs(w, explain.GraphFormat(format), whole.graph())
	default:
		return fmt.Errorf("there is no format %q: choose one of %s", format, strings.Join(Formats(), ", "))
	}
	_, err := io.WriteString(w, out)
	return err
}

// graph turns the tree into a graph with arrows like those of a rule's graph: from what is needed to what needs it.
func (n *Node) graph() *explain.Graph {
	g := &explain.Graph{Rule: n.title(n.Namespace)}
	n.addTo(g, "", n.Namespace)
	return g
}

func (n *Node) addTo(g *explain.Graph, above, namespace string) {
	kind := map[Role]explain.NodeKind{Parent: explain.NodeParent, Lookup: explain.NodeLookup, Patch: explain.NodePatch}[n.Role]
	if kind == "" {
		kind = explain.NodeChild
	}
	state := string(n.State)
	if len(n.Notes) > 0 && !n.State.IsGood() {
		state += ": " + live.Line(n.Notes[0].statement(), false)
	}
	id := fmt.Sprintf("n%d", len(g.Nodes))
	g.Nodes = append(g.Nodes, explain.GraphNode{ID: id, Kind: kind, Name: n.title(namespace), Object: state})
	switch {
	case above == "":
	case n.Role == Lookup:
		g.Edges = append(g.Edges, explain.GraphEdge{From: id, To: above})
	default:
		g.Edges = append(g.Edges, explain.GraphEdge{From: above, To: id})
	}
	for _, child := range n.Children {
		child.addTo(g, id, namespace)
	}
}
