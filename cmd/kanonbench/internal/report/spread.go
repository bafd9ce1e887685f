package report

import (
	"fmt"
	"math"
	"slices"
)

// Spread is the median, minimum and maximum of some numbers.
type Spread struct {
	Median, Min, Max float64
}

func (s Spread) String() string { return fmt.Sprintf("%.2f (%.2f–%.2f)", s.Median, s.Min, s.Max) }

// SpreadOf is the spread of numbers; false if there are none.
func SpreadOf(numbers []float64) (Spread, bool) {
	if len(numbers) == 0 {
		return Spread{}, false
	}
	return Spread{Median: Quantile(numbers, 0.5), Min: slices.Min(numbers), Max: slices.Max(numbers)}, true
}

// Quantile is the smallest number that is not exceeded by at least a share q of numbers. The median of an even number
// of numbers is the mean of the middle two. There must be at least one number.
func Quantile(numbers []float64, q float64) float64 {
	sorted := slices.Sorted(slices.Values(numbers))
	n := len(sorted)
	if q == 0.5 && n%2 == 0 {
		return (sorted[n/2-1] + sorted[n/2]) / 2
	}
	return sorted[min(n-1, max(0, int(math.Ceil(q*float64(n)))-1))]
}

// Ratios divides numbers round by round. It skips rounds that one side lacks, and divisors of 0.
func Ratios(numbers, divisors []float64) []float64 {
	var ratios []float64
	for i := range min(len(numbers), len(divisors)) {
		if divisors[i] > 0 {
			ratios = append(ratios, numbers[i]/divisors[i])
		}
	}
	return ratios
}
