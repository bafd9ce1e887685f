package report

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Merge merges runs into one. The error says in which circumstances the runs differ, so that they are not comparable.
// The merged run is complete even then.
func Merge(runs ...*Run) (*Run, error) {
	if len(runs) == 0 {
		return nil, errors.New("there are no results")
	}
	merged := &Run{Circumstances: slices.Clone(runs[0].Circumstances)}
	var errs []error
	for _, run := range runs {
		merged.Samples = append(merged.Samples, run.Samples...)
		for i := range merged.Circumstances {
			c := &merged.Circumstances[i]
			if err := c.join(run.Circumstance(c.Key)); err != nil {
				errs = append(errs, err)
			}
		}
	}
	return merged, errors.Join(errs...)
}

// join merges the same circumstance of another run.
func (c *Circumstance) join(other string) error {
	switch {
	case c.Value == other:
	case c.Key == KeyDate:
		dates := append(strings.Split(c.Value, " to "), other)
		c.Value = slices.Min(dates) + " to " + slices.Max(dates)
	default:
		return fmt.Errorf("%s is %q in one and %q in another", c.Key, c.Value, other)
	}
	return nil
}
