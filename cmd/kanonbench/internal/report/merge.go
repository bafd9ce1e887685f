package report

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Merge merges runs into one. A circumstance in which they differ has all their values. The error says in which they
// differ so that they are not comparable. The merged run is complete even then.
func Merge(runs ...*Run) (*Run, error) {
	if len(runs) == 0 {
		return nil, errors.New("there are no results")
	}
	merged := &Run{}
	for _, run := range runs {
		merged.Samples = append(merged.Samples, run.Samples...)
	}
	var errs []error
	for _, c := range runs[0].Circumstances {
		values := valuesOf(c.Key, runs)
		switch {
		case len(values) == 1:
		case c.Key == KeyDate:
			c.Value = slices.Min(values) + " to " + slices.Max(values)
		default:
			c.Value = strings.Join(values, "; ")
			errs = append(errs, fmt.Errorf("%s differs between the results: %s", c.Key, c.Value))
		}
		merged.Circumstances = append(merged.Circumstances, c)
	}
	return merged, errors.Join(errs...)
}

// valuesOf lists the different values that a circumstance has in the runs.
func valuesOf(key string, runs []*Run) []string {
	var values []string
	for _, run := range runs {
		if value := run.Circumstance(key); !slices.Contains(values, value) {
			values = append(values, value)
		}
	}
	return values
}
