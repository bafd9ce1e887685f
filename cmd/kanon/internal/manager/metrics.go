package manager

import (
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"
	"k8s.io/component-base/metrics/legacyregistry"
	_ "k8s.io/component-base/metrics/prometheus/clientgo/leaderelection" // register client-go's metrics
	_ "k8s.io/component-base/metrics/prometheus/restclient"
	_ "k8s.io/component-base/metrics/prometheus/workqueue"

	"kanon.dev/kanon/engine"
	"kanon.dev/kanon/engine/telemetry"
)

// clientPrefixes are the prefixes of client-go's metrics. They are in a registry that the whole process shares, with
// others that are of no use here.
func clientPrefixes() []string { return []string{"rest_client_", "workqueue_", "leader_election_"} }

// Registry has all metrics of the process. It implements telemetry.Counts.
type Registry struct {
	own *prometheus.Registry
	counts
}

// NewRegistry makes a registry for a version of Kanon.
func NewRegistry(version string) *Registry {
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

// counts are the metrics that are counted as things happen.
type counts struct {
	duration                          *prometheus.HistogramVec
	unwritten, cost, exceeded, writes *prometheus.CounterVec
	watches                           *prometheus.CounterVec
	// rules has the names of the rules that have series.
	rules *sync.Map
}

func newCounts() counts {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	return counts{
		rules: &sync.Map{},
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "kanon_reconcile_duration_seconds",
			Help: "How long reconciles took, by what they came to: settled, waiting for an event, or again after a pause because something failed.",
			// from a reconcile that changes nothing to one that waits for webhooks
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10, 30},
		}, []string{"rule", "verdict"}),
		unwritten: counter("kanon_reconciles_without_write_total", "Reconciles that found everything in place.", "rule"),
		cost:      counter("kanon_evaluation_cost_total", "What expressions cost, in CEL's units: about one for each call and turn of a loop.", "rule"),
		exceeded:  counter("kanon_evaluation_limit_exceeded_total", "Reconciles in which an expression exceeded a limit, by the option that sets it.", "rule", "limit"),
		writes: counter("kanon_writes_total",
			"Requests that change objects, by the rule that they are for, or none for Kanon's own, and by what the API server answered.",
			"rule", "resource", "verb", "result"),
		watches: counter("kanon_informer_requests_total", "Lists and watches that informers began.", "resource", "verb"),
	}
}

func (c *counts) all() []prometheus.Collector {
	return []prometheus.Collector{c.duration, c.unwritten, c.cost, c.exceeded, c.writes, c.watches}
}

// Reconciled implements telemetry.Counts.
func (c *counts) Reconciled(rule string, r telemetry.Reconcile) {
	c.note(rule)
	c.duration.WithLabelValues(rule, r.Verdict).Observe(r.Took.Seconds())
	c.cost.WithLabelValues(rule).Add(float64(r.Cost))
	if r.Writes == 0 {
		c.unwritten.WithLabelValues(rule).Inc()
	}
	if r.Exceeded != "" {
		c.exceeded.WithLabelValues(rule, r.Exceeded).Inc()
	}
}

// Wrote implements telemetry.Counts.
func (c *counts) Wrote(rule string, w telemetry.Write) {
	c.note(rule)
	c.writes.WithLabelValues(rule, w.Resource, string(w.Verb), w.Result).Inc()
}

// Watched implements telemetry.Counts.
func (c *counts) Watched(resource, verb string) {
	c.watches.WithLabelValues(resource, verb).Inc()
}

// note records that a rule has series.
func (c *counts) note(rule string) {
	if _, known := c.rules.Load(rule); !known && rule != "" {
		c.rules.Store(rule, nil)
	}
}

// keep drops the series of all other rules. A reconcile that ends after its rule creates them again; the next call
// drops these.
func (c *counts) keep(rules map[string]bool) {
	for rule := range c.rules.Range {
		if name, ok := rule.(string); ok && !rules[name] {
			c.rules.Delete(rule)
			c.forget(name)
		}
	}
}

func (c *counts) forget(rule string) {
	of := prometheus.Labels{"rule": rule}
	c.duration.DeletePartialMatch(of)
	for _, counter := range []*prometheus.CounterVec{c.unwritten, c.cost, c.exceeded, c.writes} {
		counter.DeletePartialMatch(of)
	}
}
