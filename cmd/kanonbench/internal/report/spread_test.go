package report

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestQuantile(t *testing.T) {
	hundred := make([]float64, 100)
	for i := range hundred {
		hundred[i] = float64(100 - i) // 100 … 1
	}
	for name, test := range map[string]struct {
		numbers []float64
		q       float64
		want    float64
	}{
		"median of one":            {[]float64{3}, 0.5, 3},
		"median of an odd number":  {[]float64{9, 1, 2}, 0.5, 2},
		"median of an even number": {[]float64{4, 1, 2, 100}, 0.5, 3},
		"p99 of a hundred":         {hundred, 0.99, 99},
		"p99 of a few is the most": {[]float64{1, 7, 2}, 0.99, 7},
		"smallest":                 {[]float64{5, 4}, 0, 4},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Quantile(test.numbers, test.q); got != test.want {
				t.Errorf("Quantile(%v, %v) = %v, want %v", test.numbers, test.q, got, test.want)
			}
		})
	}
}

func TestQuantileLeavesItsInput(t *testing.T) {
	numbers := []float64{3, 1, 2}
	Quantile(numbers, 0.5)
	if diff := cmp.Diff([]float64{3, 1, 2}, numbers); diff != "" {
		t.Errorf("numbers changed (-want +got):\n%s", diff)
	}
}

func TestRatios(t *testing.T) {
	got := Ratios([]float64{2, 3, 4, 5}, []float64{4, 0, 2})
	if diff := cmp.Diff([]float64{0.5, 2}, got); diff != "" {
		t.Errorf("ratios (-want +got):\n%s", diff)
	}
}

func TestSpreadOfNothing(t *testing.T) {
	if _, ok := SpreadOf(nil); ok {
		t.Error("nothing has a spread")
	}
}
