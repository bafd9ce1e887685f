package metrics_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kanon.dev/kanon/manager/metrics"
)

// The table of docs/reference/metrics.md has all metrics, and no others, with their labels and what they mean.
func TestMetricsAreDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/reference/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile("(?m)^\\| `(kanon_\\w+)` \\| (?:gauge|counter|histogram) \\| (.*) \\| (.*) \\|$")
	var documented []metrics.Description
	for _, cells := range row.FindAllStringSubmatch(string(page), -1) {
		documented = append(documented, metrics.Description{
			Name: cells[1], Labels: strings.Split(strings.ReplaceAll(cells[2], "`", ""), ", "), Help: cells[3],
		})
	}
	sorted := func(all []metrics.Description) []metrics.Description {
		for _, d := range all {
			slices.Sort(d.Labels)
		}
		slices.SortFunc(all, func(a, b metrics.Description) int { return strings.Compare(a.Name, b.Name) })
		return all
	}
	if diff := cmp.Diff(sorted(metrics.Descriptions()), sorted(documented)); diff != "" {
		t.Errorf("docs/reference/metrics.md (-served +documented):\n%s", diff)
	}
}
