package graph

import (
	"fmt"
	"strconv"
	"strings"
)

// dot is the graph in the language of Graphviz.
func (g *Graph) dot() string {
	shapes := map[Kind]string{Parent: "house", Lookup: "note", Child: "box", Patch: "component", Status: "oval"}
	var out strings.Builder
	fmt.Fprintf(&out, "digraph %s {\n  rankdir=LR;\n  node [fontname=\"sans-serif\"];\n", strconv.Quote(g.Rule))
	for _, n := range g.Nodes {
		fmt.Fprintf(&out, "  %s [shape=%s, label=%s];\n", strconv.Quote(n.ID), shapes[n.Kind], strconv.Quote(n.label()))
	}
	for _, e := range g.Edges {
		style := ""
		switch {
		case e.Waits:
			style = " [style=bold]"
		case e.Observes:
			style = " [style=dotted]"
		}
		fmt.Fprintf(&out, "  %s -> %s%s;\n", strconv.Quote(e.From), strconv.Quote(e.To), style)
	}
	out.WriteString("}\n")
	return out.String()
}

// mermaid is the graph as GitHub shows it in a Markdown file.
func (g *Graph) mermaid() string {
	brackets := map[Kind][2]string{
		Parent: {"[/", "\\]"}, Lookup: {"[(", ")]"}, Child: {"[", "]"}, Patch: {"{{", "}}"}, Status: {"([", "])"},
	}
	var out strings.Builder
	out.WriteString("flowchart LR\n")
	for i, n := range g.Nodes {
		label := strings.ReplaceAll(strings.ReplaceAll(n.label(), `"`, "#quot;"), "\n", "<br>")
		fmt.Fprintf(&out, "  n%d%s\"%s\"%s\n", i, brackets[n.Kind][0], label, brackets[n.Kind][1])
	}
	for _, e := range g.Edges {
		arrow := "-->"
		switch {
		case e.Waits:
			arrow = "==>"
		case e.Observes:
			arrow = "-.->"
		}
		fmt.Fprintf(&out, "  n%d %s n%d\n", g.index(e.From), arrow, g.index(e.To))
	}
	return out.String()
}
