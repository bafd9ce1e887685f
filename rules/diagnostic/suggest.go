package diagnostic

import (
	"fmt"
	"slices"
)

// DidYouMean returns `did you mean "x"?` for the most similar of the names, or "" if none is similar enough.
func DidYouMean(name string, names []string) string {
	if near, ok := Nearest(name, names); ok {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return ""
}

// Nearest returns the name with the smallest distance, if that is small compared with the length of the name.
func Nearest(name string, names []string) (string, bool) {
	best, bestDistance := "", max(1, len(name)/3)+1
	sorted := slices.Sorted(slices.Values(names))
	for _, candidate := range sorted {
		if candidate == name {
			continue
		}
		if d := Distance(name, candidate); d < bestDistance {
			best, bestDistance = candidate, d
		}
	}
	return best, best != ""
}

// NearestWord is Nearest, or else the only one of the names with the longest common prefix: children for childs,
// variables for vars.
func NearestWord(name string, names []string) (string, bool) {
	if near, ok := Nearest(name, names); ok {
		return near, true
	}
	best, most, several := "", max(3, len(name)-2), false
	for _, candidate := range names {
		switch n := commonPrefix(name, candidate); {
		case n > most || n == most && best == "":
			best, most, several = candidate, n, false
		case n == most:
			several = true
		}
	}
	return best, best != "" && !several
}

// commonPrefix returns the length of the common prefix of two words, ignoring case.
func commonPrefix(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && lower(a[n]) == lower(b[n]) {
		n++
	}
	return n
}

// Distance returns how many letters must be added, dropped, changed or swapped with the next one to turn a into b
// (optimal string alignment). It ignores case.
func Distance(a, b string) int {
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
