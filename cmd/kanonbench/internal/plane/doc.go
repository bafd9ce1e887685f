// Package plane runs the control plane of a benchmark: etcd, kube-apiserver, and
// the garbage-collector and namespace controllers, nothing else. It gives the
// engine an identity of its own, and counts by that identity what it asks of the
// API server.
//
// The counts are the API server's own. apiserver_request_total does not say who
// asked; but each request belongs to a FlowSchema, by user, verb and resource,
// and apiserver_flowcontrol_dispatched_requests_total counts them. So there is one
// FlowSchema for each verb and resource of interest, all of priority "exempt", as
// those of an administrator are, so that nothing is held back.
//
//	p, err := plane.Start(ctx, plane.Options{Binary: "bin/controlplane"})
//	before, err := p.Metrics(ctx)
//	... // an engine works, with p.EngineKubeconfig
//	after, err := p.Metrics(ctx)
//	fmt.Println(after.Counts.Sub(before.Counts)) // create configmaps: 1000, ...
package plane
