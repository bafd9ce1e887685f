// Package plane runs the control plane of a benchmark: etcd, kube-apiserver, and only the garbage-collector and
// namespace controllers. The engine has an identity of its own, by which its requests are counted.
//
// The API server counts the requests. apiserver_request_total does not say who sent them, but each request matches a
// FlowSchema, by user, verb and resource, and apiserver_flowcontrol_dispatched_requests_total counts by FlowSchema. So
// there is a FlowSchema for each verb and resource of interest. All have the priority level "exempt", like
// administrators, so that no request is delayed.
//
//	p, err := plane.Start(ctx, plane.Options{Binary: "bin/controlplane"})
//	before, err := p.Metrics(ctx)
//	... // an engine works, with p.EngineKubeconfig
//	after, err := p.Metrics(ctx)
//	fmt.Println(after.Counts.Sub(before.Counts)) // create configmaps: 1000, ...
package plane
