// Package metrics has what a running Kanon tells Prometheus. It is the only package that knows Prometheus.
//
//	registry := metrics.New("v1.2.3")
//	engine, err := engine.New(engine.Options{Counts: registry, ...}) // counts reconciles and writes
//	registry.Observe(engine.Stats)                                   // asked at each scrape
//	mux.Handle("GET /metrics", registry.Handler())
//
// Names and units follow Prometheus' conventions, and begin with kanon_. There is a series for each rule and kind at the most, and
// never one for each parent. The series of a rule go with the rule.
//
// Beside Kanon's own metrics there are those of the Go runtime and the process, and those of client-go by the names that Kubernetes'
// own components have for them: rest_client_, workqueue_ and leader_election_.
package metrics
