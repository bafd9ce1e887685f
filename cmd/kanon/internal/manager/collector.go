package manager

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"kanon.dev/kanon/engine"
	"kanon.dev/kanon/engine/watch"
)

// collector has the metrics that are read from an engine at each scrape.
type collector struct {
	stats  func() engine.Stats
	counts counts
}

// newGauges describes these metrics, by their names.
func newGauges() map[string]*prometheus.Desc {
	gauges := make(map[string]*prometheus.Desc)
	gauge := func(name, help string, labels ...string) {
		gauges[name] = prometheus.NewDesc("kanon_"+name, help, labels, nil)
	}
	gauge("rule_info", "Always 1; the label has the hash of the last good revision.", "rule", "revision")
	gauge("rule_running", "Whether a revision of the rule runs: 1 or 0.", "rule")
	gauge("rule_ready", "Whether the rule is in force as it is written: 1 or 0.", "rule")
	gauge("rule_findings", "Findings in the newest revision, by severity.", "rule", "severity")
	gauge("rule_prune_blocked", "Whether the prune guard blocks the deletions of a revision: 1 or 0.", "rule")
	gauge("rule_removal_waits", "Whether the removal of a rule waits for something that does not come by itself: 1 or 0. Other rules have no series.", "rule")
	gauge("parents", "Parents that the rule selects, by the condition that is true of them, and its reason.", "rule", "condition", "reason")
	gauge("queue_length", "Parents and targets of patches that wait for a worker.", "rule")
	gauge("informers", "Informers, by whether they have filled, are filling, or cannot watch.", "resource", "state")
	gauge("cached_objects", "Objects in memory.", "resource")
	gauge("cached_bytes", "About how much memory these objects take.", "resource")
	gauge("watch_lag_seconds", "How long ago the oldest write was of which the watch has not shown the outcome; 0: it has shown all.", "resource")
	return gauges
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(to chan<- *prometheus.Desc) {
	for _, desc := range newGauges() {
		to <- desc
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(to chan<- prometheus.Metric) {
	gauges, stats := newGauges(), c.stats()
	put := func(name string, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(gauges[name], prometheus.GaugeValue, value, labels...)
	}
	names := make(map[string]bool, len(stats.Rules)) // also of rules that are being removed
	for _, rule := range stats.Rules {
		names[rule.Name.String()] = true
		collectRule(rule, put)
	}
	collectInformers(stats.Informers, put)
	c.counts.keep(names)
}

// putter passes the value of a gauge to Prometheus.
type putter func(name string, value float64, labels ...string)

func collectRule(rule engine.RuleStats, put putter) {
	name := rule.Name.String()
	if rule.Removed {
		put("rule_removal_waits", one(rule.Waits), name)
		return
	}
	if rule.Revision != "" {
		put("rule_info", 1, name, rule.Revision)
	}
	put("rule_running", one(rule.Runs), name)
	put("rule_ready", one(rule.Ready), name)
	put("rule_findings", float64(rule.Errors), name, "error")
	put("rule_findings", float64(rule.Warnings), name, "warning")
	put("rule_prune_blocked", one(rule.Blocked), name)
	put("queue_length", float64(rule.Waiting), name)
	for condition, n := range rule.Parents {
		put("parents", float64(n), name, condition.Type, condition.Reason)
	}
}

// collectInformers adds up the informers of each resource.
func collectInformers(informers []watch.Stats, put putter) {
	type sums struct {
		states  map[string]int
		objects int
		bytes   int64
		lag     time.Duration
	}
	byResource := make(map[string]*sums)
	for _, informer := range informers {
		name := informer.Resource.String()
		of := byResource[name]
		if of == nil {
			of = &sums{states: map[string]int{"synced": 0, "filling": 0, "failing": 0}}
			byResource[name] = of
		}
		of.states[stateOf(informer)]++
		of.objects += informer.Objects
		of.bytes += informer.Bytes
		of.lag = max(of.lag, informer.Lag)
	}
	for name, of := range byResource {
		for state, n := range of.states {
			put("informers", float64(n), name, state)
		}
		put("cached_objects", float64(of.objects), name)
		put("cached_bytes", float64(of.bytes), name)
		put("watch_lag_seconds", of.lag.Seconds(), name)
	}
}

func stateOf(informer watch.Stats) string {
	switch {
	case informer.Failing:
		return "failing"
	case informer.Synced:
		return "synced"
	}
	return "filling"
}

func one(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
