package operator

import "testing"

func TestCompareNumbered(t *testing.T) {
	t.Parallel()
	ascending := [][]string{
		{"", "a", "a-1", "a-2", "a-10", "a-10-1", "a-10-2", "a-11", "b"},
		{"0", "1", "9", "10", "18446744073709551616", "a"},
		{"a-1-z", "a-2-a"},
		{"a-01", "a-1"}, // which are two names, and so never equal
		{"a-1-b", "a-01-c"},
	}
	for _, names := range ascending {
		for i, a := range names {
			for j, b := range names {
				if got := compareNumbered(a, b); got < 0 != (i < j) || got > 0 != (i > j) {
					t.Errorf("%q and %q compare as %d", a, b, got)
				}
			}
		}
	}
}
