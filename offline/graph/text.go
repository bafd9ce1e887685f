package graph

import (
	"fmt"
	"strings"
)

// text is the graph as a table: each part, its objects and what it needs, then what the rule watches, reads and writes.
func (g *Graph) text() string {
	var rows [][3]string
	widths := [2]int{}
	for _, n := range g.Nodes {
		name := n.Name
		if n.Kind != Parent && n.Kind != Status {
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
