package graph

import (
	"fmt"
	"html"
	"strings"
	"unicode/utf8"
)

// Sizes of the picture, in pixels.
const (
	charWidth  = 7.5
	nodeHeight = 44
	gapX       = 70
	gapY       = 18
	margin     = 12
)

// heading is the height of the heading above each graph, if there are several.
const heading = 28

// svg draws graphs, one below the other. Its colours are readable on light and on dark pages.
func svg(graphs []*Graph) string {
	names := make([]string, len(graphs))
	var body strings.Builder
	var width, height float64
	for i, g := range graphs {
		names[i] = g.Rule
		picture, w, h := g.picture()
		width = max(width, w)
		if len(graphs) == 1 {
			body.WriteString(picture)
			height = h
			continue
		}
		fmt.Fprintf(&body, `<text x="%d" y="%.0f" font-weight="bold" fill="#7a869a">%s</text>`+"\n", margin, height+heading-8, html.EscapeString("rule "+g.Rule))
		fmt.Fprintf(&body, `<svg y="%.0f" width="%.0f" height="%.0f">`+"\n%s</svg>\n", height+heading, w, h, picture)
		height += heading + h
	}
	what := "The graph of rule "
	if len(graphs) > 1 {
		what = "The graphs of rules "
	}
	var out strings.Builder
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" width="%.0f" height="%.0f" font-family="sans-serif" font-size="13" role="img" aria-label="%s">
`, width, height, width, height, html.EscapeString(what+strings.Join(names, ", ")))
	out.WriteString(`<defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="10" markerHeight="10" markerUnits="userSpaceOnUse" orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="#7a869a"/></marker></defs>
`)
	out.WriteString(body.String() + "</svg>\n")
	return out.String()
}

// picture is the content of a graph's picture, and its size.
func (g *Graph) picture() (text string, totalX, totalY float64) {
	places, columns, rows := g.layout()
	width := 0.0
	for _, n := range g.Nodes {
		for line := range strings.SplitSeq(n.label(), "\n") {
			width = max(width, float64(utf8.RuneCountInString(line))*charWidth+24)
		}
	}
	height := float64(rows)*(nodeHeight+gapY) - gapY
	perColumn := map[int]int{}
	for _, p := range places {
		perColumn[p.column]++
	}
	x := func(p place) float64 { return margin + float64(p.column)*(width+gapX) }
	y := func(p place) float64 { // columns are centered
		own := float64(perColumn[p.column])*(nodeHeight+gapY) - gapY
		return margin + (height-own)/2 + float64(p.row)*(nodeHeight+gapY)
	}
	totalX, totalY = 2*margin+float64(columns)*(width+gapX)-gapX, 2*margin+height
	var out strings.Builder
	for _, e := range g.Edges {
		from, to := places[g.index(e.From)], places[g.index(e.To)]
		x1, y1, x2, y2 := x(from)+width, y(from)+nodeHeight/2, x(to), y(to)+nodeHeight/2
		fmt.Fprintf(&out, `<path d="M%.0f,%.0f C%.0f,%.0f %.0f,%.0f %.0f,%.0f" fill="none" stroke="#7a869a" %s marker-end="url(#arrow)"/>
`, x1, y1, x1+gapX/2, y1, x2-gapX/2, y2, x2, y2, e.stroke())
	}
	fills := map[Kind]string{Parent: "#cfe3ff", Lookup: "#fff1c2", Child: "#d9f2dd", Patch: "#ffe0cc", Status: "#e6dcf7"}
	for i, n := range g.Nodes {
		p := places[i]
		radius := 5
		if n.Kind == Status || n.Kind == Parent {
			radius = nodeHeight / 2
		}
		fmt.Fprintf(&out, `<g><rect x="%.0f" y="%.0f" width="%.0f" height="%d" rx="%d" fill="%s" stroke="#7a869a"/>`, x(p), y(p), width, nodeHeight, radius, fills[n.Kind])
		if len(n.Notes) > 0 {
			fmt.Fprintf(&out, `<title>%s</title>`, html.EscapeString(strings.Join(n.Notes, "; ")))
		}
		lines := strings.Split(n.label(), "\n")
		for j, line := range lines {
			weight := "bold"
			if j > 0 {
				weight = "normal"
			}
			offset := nodeHeight/2 + 4.5 + (float64(j)-float64(len(lines)-1)/2)*16
			fmt.Fprintf(&out, `<text x="%.0f" y="%.1f" text-anchor="middle" font-weight="%s" fill="#172b4d">%s</text>`, x(p)+width/2, y(p)+offset, weight, html.EscapeString(line))
		}
		out.WriteString("</g>\n")
	}
	return out.String(), totalX, totalY
}

// stroke is the line style of an edge.
func (e Edge) stroke() string {
	switch {
	case e.Waits:
		return `stroke-width="2.6"`
	case e.Observes:
		return `stroke-width="1.2" stroke-dasharray="3 3"`
	default:
		return `stroke-width="1.2"`
	}
}
