package report

import (
	"fmt"
	"io"
	"slices"
)

// WriteSize writes the memory for large children: for each load of large children, the memory at rest compared with the
// same number of small ones. It writes nothing if no such pair was measured.
func WriteSize(w io.Writer, run *Run) error {
	table := [][]string{{"ConfigMaps", "engine", "small ones", "large ones", "more for each"}}
	loads := run.Loads()
	for _, large := range loads {
		small := large
		small.Size = 0
		if large.Size == 0 || !slices.Contains(loads, small) {
			continue
		}
		for _, engine := range []struct{ name, title string }{{Operator, "by hand"}, {Kanon, "Kanon"}} {
			a, okA := SpreadOf(run.Numbers(small, Restart, engine.name, Resident))
			b, okB := SpreadOf(run.Numbers(large, Restart, engine.name, Resident))
			if !okA || !okB {
				continue
			}
			more := (b.Median - a.Median) / float64(large.Parents)
			table = append(table, []string{
				fmt.Sprintf("%s of %s KB", thousands(large.Parents), thousands(large.Size/1000)), engine.title,
				mebibytes(a.Median), mebibytes(b.Median), fmt.Sprintf("%.0f KB", more/1000),
			})
		}
	}
	if len(table) == 1 {
		return nil
	}
	if _, err := fmt.Fprint(w, "## Large children\n\nMemory at rest, after a restart.\n\n"); err != nil {
		return fmt.Errorf("write sizes: %w", err)
	}
	if err := writeColumns(w, table); err != nil {
		return fmt.Errorf("write sizes: %w", err)
	}
	if _, err := fmt.Fprintln(w); err != nil {
		return fmt.Errorf("write sizes: %w", err)
	}
	return nil
}
