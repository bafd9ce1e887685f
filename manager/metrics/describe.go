package metrics

import (
	"regexp"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// Description describes one of Kanon's own metrics.
type Description struct {
	Name, Help string
	Labels     []string
}

// descPattern parses the text of a prometheus.Desc, which has no accessors.
var descPattern = regexp.MustCompile(`^Desc\{fqName: "(.*)", help: "(.*?)"(?:, unit: ".*?")?, constLabels: \{(.*)\}, variableLabels: \{(.*)\}(?:, .*)?\}$`)

// Descriptions describes all of Kanon's own metrics.
func Descriptions() []Description {
	descs := make(chan *prometheus.Desc)
	go func() {
		defer close(descs)
		c := newCounts()
		for _, collector := range append(c.all(), newBuildInfo(""), &collector{}) {
			collector.Describe(descs)
		}
	}()
	var all []Description
	for desc := range descs {
		parts := descPattern.FindStringSubmatch(desc.String())
		d := Description{Name: parts[1], Help: parts[2]}
		for label := range strings.SplitSeq(parts[3]+","+parts[4], ",") {
			if name, _, _ := strings.Cut(label, "="); name != "" {
				d.Labels = append(d.Labels, strings.TrimSpace(name))
			}
		}
		all = append(all, d)
	}
	return all
}

// Labels returns the labels of each of Kanon's own metrics.
func Labels() map[string][]string {
	labels := make(map[string][]string)
	for _, d := range Descriptions() {
		labels[d.Name] = d.Labels
	}
	return labels
}
