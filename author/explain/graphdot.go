package explain

import (
	"fmt"
	"strconv"
	"strings"
)

// dot writes graphs in the language of Graphviz. If there are several, each is in a labelled box.
func dot(graphs []*Graph) string {
	var out strings.Builder
	name := ""
	if len(graphs) == 1 {
		name = strconv.Quote(graphs[0].Rule) + " "
	}
	fmt.Fprintf(&out, "digraph %s{\n  rankdir=LR;\n  node [fontname=\"sans-serif\"];\n", name)
	for i, g := range graphs {
		if len(graphs) == 1 {
			g.dotBody(&out, "  ", "")
			continue
		}
		fmt.Fprintf(&out, "  subgraph \"cluster_%d\" {\n    label=%s;\n", i, strconv.Quote("rule "+g.Rule))
		g.dotBody(&out, "    ", fmt.Sprintf("%d/", i))
		out.WriteString("  }\n")
	}
	out.WriteString("}\n")
	return out.String()
}

// dotBody writes nodes and edges. prefix makes node ids unique across graphs.
func (g *Graph) dotBody(out *strings.Builder, indent, prefix string) {
	shapes := map[NodeKind]string{NodeParent: "house", NodeLookup: "note", NodeChild: "box", NodePatch: "component", NodeStatus: "oval"}
	for _, n := range g.Nodes {
		fmt.Fprintf(out, "%s%s [shape=%s, label=%s];\n", indent, strconv.Quote(prefix+n.ID), shapes[n.Kind], strconv.Quote(n.label()))
	}
	for _, e := range g.Edges {
		style := ""
		switch {
		case e.Waits:
			style = " [style=bold]"
		case e.Observes:
			style = " [style=dotted]"
		}
		fmt.Fprintf(out, "%s%s -> %s%s;\n", indent, strconv.Quote(prefix+e.From), strconv.Quote(prefix+e.To), style)
	}
}

// mermaid writes graphs in the language of GraphMermaid, which GitHub renders. If there are several, each is in a labelled
// box.
func mermaid(graphs []*Graph) string {
	var out strings.Builder
	out.WriteString("flowchart LR\n")
	first := 0
	for i, g := range graphs {
		if len(graphs) == 1 {
			g.mermaidBody(&out, "  ", 0)
			continue
		}
		fmt.Fprintf(&out, "  subgraph r%d[\"%s\"]\n", i, mermaidText("rule "+g.Rule))
		g.mermaidBody(&out, "    ", first)
		out.WriteString("  end\n")
		first += len(g.Nodes)
	}
	return out.String()
}

// mermaidBody writes nodes and edges. first is the number of the graph's first node in the document.
func (g *Graph) mermaidBody(out *strings.Builder, indent string, first int) {
	brackets := map[NodeKind][2]string{
		NodeParent: {"[/", "\\]"}, NodeLookup: {"[(", ")]"}, NodeChild: {"[", "]"}, NodePatch: {"{{", "}}"}, NodeStatus: {"([", "])"},
	}
	for i, n := range g.Nodes {
		fmt.Fprintf(out, "%sn%d%s\"%s\"%s\n", indent, first+i, brackets[n.Kind][0], mermaidText(n.label()), brackets[n.Kind][1])
	}
	for _, e := range g.Edges {
		arrow := "-->"
		switch {
		case e.Waits:
			arrow = "==>"
		case e.Observes:
			arrow = "-.->"
		}
		fmt.Fprintf(out, "%sn%d %s n%d\n", indent, first+g.index(e.From), arrow, first+g.index(e.To))
	}
}

func mermaidText(label string) string {
	return strings.ReplaceAll(strings.ReplaceAll(label, `"`, "#quot;"), "\n", "<br>")
}
