package manager

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
)

// The table of docs/reference/metrics.md has all metrics, and no others, with their labels and what they mean.
func TestMetricsAreDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../../docs/reference/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile("(?m)^\\| `(kanon_\\w+)` \\| (?:gauge|counter|histogram) \\| (.*) \\| (.*) \\|$")
	var documented []metric
	for _, cells := range row.FindAllStringSubmatch(string(page), -1) {
		documented = append(documented, metric{
			Name: cells[1], Labels: strings.Split(strings.ReplaceAll(cells[2], "`", ""), ", "), Help: cells[3],
		})
	}
	sorted := func(all []metric) []metric {
		for _, d := range all {
			slices.Sort(d.Labels)
		}
		slices.SortFunc(all, func(a, b metric) int { return strings.Compare(a.Name, b.Name) })
		return all
	}
	if diff := cmp.Diff(sorted(metrics()), sorted(documented)); diff != "" {
		t.Errorf("docs/reference/metrics.md (-served +documented):\n%s", diff)
	}
}

// metric describes one of Kanon's own metrics.
type metric struct {
	Name, Help string
	Labels     []string
}

// descPattern parses the text of a prometheus.Desc, which has no accessors.
var descPattern = regexp.MustCompile(`^Desc\{fqName: "(.*)", help: "(.*?)"(?:, unit: ".*?")?, constLabels: \{(.*)\}, variableLabels: \{(.*)\}(?:, .*)?\}$`)

// metrics describes all of Kanon's own metrics.
func metrics() []metric {
	descs := make(chan *prometheus.Desc)
	go func() {
		defer close(descs)
		c := newCounts()
		for _, collector := range append(c.all(), newBuildInfo(""), &collector{}) {
			collector.Describe(descs)
		}
	}()
	var all []metric
	for desc := range descs {
		parts := descPattern.FindStringSubmatch(desc.String())
		d := metric{Name: parts[1], Help: parts[2]}
		for label := range strings.SplitSeq(parts[3]+","+parts[4], ",") {
			if name, _, _ := strings.Cut(label, "="); name != "" {
				d.Labels = append(d.Labels, strings.TrimSpace(name))
			}
		}
		all = append(all, d)
	}
	return all
}
