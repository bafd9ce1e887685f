package operator

import (
	"cmp"
	"math"
	"strings"

	"kanon.dev/kanon/rules/program"
)

// Ordered returns the nodes of a rule whose objects are deleted one after the other.
func Ordered(of *program.Program) map[string]bool {
	ordered := make(map[string]bool)
	for _, child := range of.Children {
		if child.Rollout != nil && child.Rollout.Ordered {
			ordered[child.ID] = true
		}
	}
	return ordered
}

// InOrder lists the children that can be deleted now. If a node creates its objects in order, they are deleted in
// reverse: the last by name first, with numbers compared as numbers, and the next once that one is gone. isDeleting
// reports whether one of a node's unrendered children is being deleted.
func InOrder(children []Child, ordered map[string]bool, isDeleting func(node string) bool) []Child {
	last := make(map[string]int, len(ordered))
	for i, child := range children {
		node := child.Owner.Node
		if !ordered[node] {
			continue
		}
		if at, ok := last[node]; !ok || compare(child, children[at]) > 0 {
			last[node] = i
		}
	}
	if len(last) == 0 {
		return children
	}
	var found []Child
	for i, child := range children {
		node := child.Owner.Node
		if at, isOrdered := last[node]; !isOrdered || at == i && !isDeleting(node) {
			found = append(found, child)
		}
	}
	return found
}

// Dependents lists the children on which no other child depends, and those that wait until these are gone, for a rule
// with spec.finalize. rank orders the nodes by dependsOn, dependents higher. It is negative for a node that no longer
// exists, on which nothing depends.
func Dependents(children []Child, rank func(node string) int) (next, later []Child) {
	rankOf := func(c Child) int {
		if r := rank(c.Owner.Node); c.IsMarked && r >= 0 {
			return r
		}
		return math.MaxInt
	}
	highest := math.MinInt
	for _, child := range children {
		highest = max(highest, rankOf(child))
	}
	for _, child := range children {
		if rankOf(child) == highest {
			next = append(next, child)
		} else {
			later = append(later, child)
		}
	}
	return next, later
}

// compare orders children by namespace and name, with numbers in a name compared as numbers.
func compare(a, b Child) int {
	return cmp.Or(strings.Compare(a.Object.GetNamespace(), b.Object.GetNamespace()), compareNumbered(a.Object.GetName(), b.Object.GetName()))
}

// compareNumbered orders texts with the numbers in them compared as numbers: web-2 before web-10. Texts that differ
// only in leading zeros are compared as texts.
func compareNumbered(a, b string) int { return cmp.Or(compareNumbers(a, b), strings.Compare(a, b)) }

func compareNumbers(a, b string) int {
	for a != "" && b != "" {
		x, y := digits(a), digits(b)
		if x > 0 && y > 0 {
			m, n := strings.TrimLeft(a[:x], "0"), strings.TrimLeft(b[:y], "0")
			if c := cmp.Or(cmp.Compare(len(m), len(n)), strings.Compare(m, n)); c != 0 {
				return c
			}
			a, b = a[x:], b[y:]
			continue
		}
		if a[0] != b[0] {
			return cmp.Compare(a[0], b[0])
		}
		a, b = a[1:], b[1:]
	}
	return cmp.Compare(len(a), len(b))
}

// digits returns how many digits a text begins with.
func digits(s string) int { return len(s) - len(strings.TrimLeft(s, "0123456789")) }
