// Package manager is the process that runs rules: it connects the engine to a cluster, to sources of rules and to a log.
//
//	m, err := manager.New(manager.Options{Config: config, Namespace: "kanon-system", Workers: 16})
//	if err != nil {
//		return err
//	}
//	return m.Run(ctx) // until ctx ends
//
// Run starts nothing before the API server answers: if many parts reported the same outage, its cause would be hard to
// find (apiserver.go). The package also has what belongs to the process rather than to the engine:
//
//   - the leader election, and the gate that all writes pass (election.go);
//   - health for the kubelet, which answers everybody, and metrics and profiles for those who may read them: reviews.go
//     asks the API server who sends a request and whether it is permitted (serve.go, endpoint.go, certificate.go);
//   - the metrics, for Prometheus (metrics.go, collector.go). There is at most one series for each rule and
//     kind, and never one for each parent. The series of a rule are dropped with the rule;
//   - traces, for OpenTelemetry (tracing.go);
//   - its share of memory and how it uses Go's runtime (runtime.go).
package manager
