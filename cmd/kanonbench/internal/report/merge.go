package report

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Merge makes one run of several. Of a round that was broken off in one of them, what
// there is is left out, so that ratios are formed within a round. The error says in
// which circumstances the runs differ though they must not, to be compared; the run is
// whole in spite of it.
func Merge(runs ...*Run) (*Run, error) {
	if len(runs) == 0 {
		return nil, errors.New("there are no results")
	}
	merged := &Run{Circumstances: slices.Clone(runs[0].Circumstances)}
	var errs []error
	for _, run := range runs {
		merged.Samples = append(merged.Samples, wholeRounds(run.Samples)...)
		for i := range merged.Circumstances {
			c := &merged.Circumstances[i]
			if err := c.join(run.Circumstance(c.Key)); err != nil {
				errs = append(errs, err)
			}
		}
	}
	return merged, errors.Join(errs...)
}

// join takes the same circumstance of another run.
func (c *Circumstance) join(other string) error {
	switch {
	case c.Value == other:
	case c.Key == KeyDate:
		dates := append(strings.Split(c.Value, " to "), other)
		c.Value = slices.Min(dates) + " to " + slices.Max(dates)
	case c.Key == KeyLoadBefore:
		a, err1 := strconv.ParseFloat(c.Value, 64)
		b, err2 := strconv.ParseFloat(other, 64)
		if err := errors.Join(err1, err2); err != nil {
			return fmt.Errorf("read %s: %w", c.Key, err)
		}
		c.Value = fmt.Sprintf("%.2f", max(a, b))
	default:
		return fmt.Errorf("%s is %q in one and %q in another", c.Key, c.Value, other)
	}
	return nil
}

// wholeRounds leaves out what some engines have measured once more than others, because
// the run was broken off.
func wholeRounds(samples []Sample) []Sample {
	type place struct {
		load   Load
		phase  Phase
		engine string
	}
	counts := make(map[place]int)
	for _, s := range samples {
		counts[place{s.Load, s.Phase, s.Engine}]++
	}
	whole := make(map[place]int) // by load and phase
	for p, n := range counts {
		p.engine = ""
		whole[p] = min(n, cmp.Or(whole[p], n))
	}
	seen := make(map[place]int)
	return slices.DeleteFunc(slices.Clone(samples), func(s Sample) bool {
		seen[place{s.Load, s.Phase, s.Engine}]++
		return seen[place{s.Load, s.Phase, s.Engine}] > whole[place{s.Load, s.Phase, ""}]
	})
}
