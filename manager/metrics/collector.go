package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"kanon.dev/kanon/engine"
	"kanon.dev/kanon/engine/monitor"
)

// collector has the metrics that are read from an engine at each scrape.
type collector struct {
	stats  func() engine.Stats
	counts counts
}

// gauge describes a metric that is read from an engine.
func gauge(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

// gauges are all these metrics.
type gauges struct {
	info, runs, ready, findings, blocked, removal, parents, waiting *prometheus.Desc
	informers, objects, bytes, lag                                  *prometheus.Desc
}

func newGauges() gauges {
	return gauges{
		info:      gauge("kanon_rule_info", "Always 1; the label has the hash of the last good revision.", "rule", "revision"),
		runs:      gauge("kanon_rule_running", "Whether a revision of the rule runs: 1 or 0.", "rule"),
		ready:     gauge("kanon_rule_ready", "Whether the rule is in force as it is written: 1 or 0.", "rule"),
		findings:  gauge("kanon_rule_findings", "Findings in the newest revision, by severity.", "rule", "severity"),
		blocked:   gauge("kanon_rule_prune_blocked", "Whether the prune guard blocks the deletions of a revision: 1 or 0.", "rule"),
		removal:   gauge("kanon_rule_removal_waits", "Whether the removal of a rule waits for something that does not come by itself: 1 or 0. Other rules have no series.", "rule"),
		parents:   gauge("kanon_parents", "Parents that the rule selects, by the condition that is true of them, and its reason.", "rule", "condition", "reason"),
		waiting:   gauge("kanon_queue_length", "Parents and targets of patches that wait for a worker.", "rule"),
		informers: gauge("kanon_informers", "Informers, by whether they have filled, are filling, or cannot watch.", "resource", "state"),
		objects:   gauge("kanon_cached_objects", "Objects in memory.", "resource"),
		bytes:     gauge("kanon_cached_bytes", "About how much memory these objects take.", "resource"),
		lag:       gauge("kanon_watch_lag_seconds", "How long ago the oldest write was of which the watch has not shown the outcome; 0: it has shown all.", "resource"),
	}
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(to chan<- *prometheus.Desc) {
	g := newGauges()
	for _, desc := range []*prometheus.Desc{g.info, g.runs, g.ready, g.findings, g.blocked, g.removal, g.parents, g.waiting, g.informers, g.objects, g.bytes, g.lag} {
		to <- desc
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(to chan<- prometheus.Metric) {
	g, stats := newGauges(), c.stats()
	put := func(desc *prometheus.Desc, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	}
	collectRules(g, stats.Rules, put)
	collectInformers(g, stats.Informers, put)
	c.counts.keep(namesOf(stats.Rules))
}

// namesOf returns the names of rules, including those that are being removed.
func namesOf(rules []engine.RuleStats) map[string]bool {
	names := make(map[string]bool, len(rules))
	for _, rule := range rules {
		names[rule.Name.String()] = true
	}
	return names
}

// putter passes the value of a gauge to Prometheus.
type putter func(desc *prometheus.Desc, value float64, labels ...string)

func collectRules(g gauges, rules []engine.RuleStats, put putter) {
	for _, rule := range rules {
		name := rule.Name.String()
		if rule.Removed {
			put(g.removal, one(rule.Waits), name)
			continue
		}
		if rule.Revision != "" {
			put(g.info, 1, name, rule.Revision)
		}
		put(g.runs, one(rule.Runs), name)
		put(g.ready, one(rule.Ready), name)
		put(g.findings, float64(rule.Errors), name, "error")
		put(g.findings, float64(rule.Warnings), name, "warning")
		put(g.blocked, one(rule.Blocked), name)
		put(g.waiting, float64(rule.Waiting), name)
		for condition, n := range rule.Parents {
			put(g.parents, float64(n), name, condition.Type, condition.Reason)
		}
	}
}

// collectInformers adds up the informers of each resource.
func collectInformers(g gauges, informers []monitor.Stats, put putter) {
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
			put(g.informers, float64(n), name, state)
		}
		put(g.objects, float64(of.objects), name)
		put(g.bytes, float64(of.bytes), name)
		put(g.lag, of.lag.Seconds(), name)
	}
}

func stateOf(informer monitor.Stats) string {
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
