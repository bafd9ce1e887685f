package graph

import (
	"cmp"
	"slices"
)

// place is the position of a node.
type place struct{ column, row int }

// layout places each node to the right of all that it needs. Within a column, nodes are sorted by the mean row of what
// they need, so that few edges cross: one pass, from left to right, of the barycenter method of Sugiyama, Tagawa and
// Toda (1981).
func (g *Graph) layout() (places []place, columns, rows int) {
	places = make([]place, len(g.Nodes))
	byColumn := map[int][]int{}
	for i := range g.Nodes {
		places[i].column = g.column(i, map[int]bool{})
		byColumn[places[i].column] = append(byColumn[places[i].column], i)
		columns = max(columns, places[i].column+1)
	}
	for column := range columns {
		nodes := byColumn[column]
		slices.SortStableFunc(nodes, func(a, b int) int { return cmp.Compare(g.middle(a, places), g.middle(b, places)) })
		for row, i := range nodes {
			places[i].row = row
		}
		rows = max(rows, len(nodes))
	}
	return places, columns, rows
}

// column is the length of the longest path to a node. below are the nodes on the path, to stop at cycles.
func (g *Graph) column(i int, below map[int]bool) int {
	if below[i] {
		return 0
	}
	below[i] = true
	defer delete(below, i)
	column := 0
	for _, e := range g.needs(g.Nodes[i].ID) {
		column = max(column, g.column(g.index(e.From), below)+1)
	}
	return column
}

// middle is the mean row of the nodes that a node needs.
func (g *Graph) middle(i int, places []place) float64 {
	sum, n := 0.0, 0.0
	for _, e := range g.needs(g.Nodes[i].ID) {
		sum += float64(places[g.index(e.From)].row)
		n++
	}
	if n == 0 {
		return 0
	}
	return sum / n
}
