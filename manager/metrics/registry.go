package metrics

import (
	"net/http"
	"runtime"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"
	"k8s.io/component-base/metrics/legacyregistry"
	_ "k8s.io/component-base/metrics/prometheus/clientgo/leaderelection" // register client-go's metrics
	_ "k8s.io/component-base/metrics/prometheus/restclient"
	_ "k8s.io/component-base/metrics/prometheus/workqueue"

	"kanon.dev/kanon/engine"
)

// clientPrefixes are the prefixes of client-go's metrics. They are in a registry that the whole process shares, with
// others that are of no use here.
func clientPrefixes() []string { return []string{"rest_client_", "workqueue_", "leader_election_"} }

// Registry has all metrics of the process. It implements meter.Counts.
type Registry struct {
	own *prometheus.Registry
	counts
}

// New makes a registry for a version of Kanon.
func New(version string) *Registry {
	r := &Registry{own: prometheus.NewRegistry(), counts: newCounts()}
	r.own.MustRegister(newBuildInfo(version), collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	r.own.MustRegister(r.all()...)
	return r
}

// newBuildInfo is the metric with the version of Kanon.
func newBuildInfo(version string) prometheus.Collector {
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "kanon_build_info", Help: "Always 1; the labels have the version of Kanon and of Go.",
		ConstLabels: prometheus.Labels{"version": version, "goversion": runtime.Version()},
	})
	build.Set(1)
	return build
}

// Observe adds the metrics of an engine. It may be called once.
func (r *Registry) Observe(stats func() engine.Stats) {
	r.own.MustRegister(&collector{stats: stats, counts: r.counts})
}

// Handler serves the metrics.
func (r *Registry) Handler() http.Handler {
	return promhttp.HandlerFor(prometheus.Gatherers{r.own, prometheus.GathererFunc(gatherClient)}, promhttp.HandlerOpts{})
}

// gatherClient gathers client-go's metrics.
func gatherClient() ([]*dto.MetricFamily, error) {
	families, err := legacyregistry.DefaultGatherer.Gather()
	return slices.DeleteFunc(families, func(family *dto.MetricFamily) bool {
		return !slices.ContainsFunc(clientPrefixes(), func(prefix string) bool { return strings.HasPrefix(family.GetName(), prefix) })
	}), err
}
