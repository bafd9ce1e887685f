package report

import (
	"fmt"
	"math"
	"slices"
)

// Spread is the median of some numbers and their extremes.
type Spread struct {
	Median, Min, Max float64
}

func (s Spread) String() string { return fmt.Sprintf("%.2f (%.2f–%.2f)", s.Median, s.Min, s.Max) }

// SpreadOf is the spread of numbers, of which there must be one at least.
func SpreadOf(numbers []float64) (Spread, bool) {
	if len(numbers) == 0 {
		return Spread{}, false
	}
	return Spread{Median: Quantile(numbers, 0.5), Min: slices.Min(numbers), Max: slices.Max(numbers)}, true
}

// Quantile is the smallest number that at least a share q of numbers does not
// exceed; the median of an even number of them is the mean of the two in the
// middle. There must be one number at least.
func Quantile(numbers []float64, q float64) float64 {
	sorted := slices.Sorted(slices.Values(numbers))
	n := len(sorted)
	if q == 0.5 && n%2 == 0 {
		return (sorted[n/2-1] + sorted[n/2]) / 2
	}
	return sorted[min(n-1, max(0, int(math.Ceil(q*float64(n)))-1))]
}

// Ratios divides numbers round by round. Rounds that one side lacks, and those of
// which the divisor is 0, are left out.
func Ratios(numbers, divisors []float64) []float64 {
	var ratios []float64
	for i := range min(len(numbers), len(divisors)) {
		if divisors[i] > 0 {
			ratios = append(ratios, numbers[i]/divisors[i])
		}
	}
	return ratios
}
