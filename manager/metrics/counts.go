package metrics

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"kanon.dev/kanon/engine/meter"
)

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

// Reconciled implements meter.Counts.
func (c *counts) Reconciled(rule string, r meter.Reconcile) {
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

// Wrote implements meter.Counts.
func (c *counts) Wrote(rule string, w meter.Write) {
	c.note(rule)
	c.writes.WithLabelValues(rule, w.Resource, string(w.Verb), w.Result).Inc()
}

// Watched implements meter.Counts.
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
