// Package metrics has the metrics of a running Kanon, for Prometheus. It is the only package that depends on
// Prometheus.
//
//	registry := metrics.New("v1.2.3")
//	engine, err := engine.New(engine.Options{Counts: registry, ...}) // counts reconciles and writes
//	registry.Observe(engine.Stats) // read at each scrape
//	mux.Handle("GET /metrics", registry.Handler())
//
// Names and units follow Prometheus' conventions, and begin with kanon_. There is at most one series for each rule and
// kind, and never one for each parent. The series of a rule are dropped with the rule.
//
// In addition to Kanon's own metrics, there are those of the Go runtime and the process, and those of client-go, with
// the names that they have in Kubernetes' own components: rest_client_, workqueue_ and leader_election_.
package metrics
