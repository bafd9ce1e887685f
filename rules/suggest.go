package rules

import (
	"fmt"
	"slices"
)

// didYouMean gives `did you mean "x"?` for the nearest of the names, if one is
// near, else nothing.
func didYouMean(name string, names []string) string {
	if near, ok := nearest(name, names); ok {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return ""
}

// nearest is the name that is the fewest changes away, if those are few
// against the name's length.
func nearest(name string, names []string) (string, bool) {
	best, bestDistance := "", max(1, len(name)/3)+1
	sorted := slices.Sorted(slices.Values(names))
	for _, candidate := range sorted {
		if candidate == name {
			continue
		}
		if d := distance(name, candidate); d < bestDistance {
			best, bestDistance = candidate, d
		}
	}
	return best, best != ""
}

// distance counts the letters to add, drop, change or swap with the next
// (optimal string alignment) to make b of a. Case does not count.
func distance(a, b string) int {
	previous, current, next := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range current {
		current[j] = j
	}
	for i := 1; i <= len(a); i++ {
		next[0] = i
		for j := 1; j <= len(b); j++ {
			change := 1
			if lower(a[i-1]) == lower(b[j-1]) {
				change = 0
			}
			next[j] = min(current[j]+1, next[j-1]+1, current[j-1]+change)
			if i > 1 && j > 1 && lower(a[i-1]) == lower(b[j-2]) && lower(a[i-2]) == lower(b[j-1]) {
				next[j] = min(next[j], previous[j-2]+1)
			}
		}
		previous, current, next = current, next, previous
	}
	return current[len(b)]
}

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}
