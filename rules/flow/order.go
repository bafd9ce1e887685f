package flow

import "slices"

// Sort sorts nodes so that each comes after those it needs, as near to their original order as possible. needs has the
// indices of those that a node needs. A cycle begins and ends with the same node. There is one for each need that
// closes a cycle.
func Sort(needs [][]int) (order []int, cycles [][]int) {
	const (
		unseen = iota
		open
		done
	)
	state := make([]int, len(needs))
	var path []int
	var visit func(i int)
	visit = func(i int) {
		switch state[i] {
		case done:
			return
		case open:
			cycles = append(cycles, append(slices.Clone(path[slices.Index(path, i):]), i))
			return
		}
		state[i] = open
		path = append(path, i)
		for _, j := range needs[i] {
			visit(j)
		}
		path = path[:len(path)-1]
		state[i] = done
		order = append(order, i)
	}
	for i := range needs {
		visit(i)
	}
	return order, cycles
}
