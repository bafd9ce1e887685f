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
//
// A [World] watches parents and children on the API server, so that an engine is timed by its results, and makes the
// work: it creates, changes and deletes parents, and edits children. A goal is set before the cause, so that its time is
// that of the event that completed it:
//
//	done := w.Expect(names, plane.Converged("1", 0))
//	err := w.Create(ctx, names, "1", 0)
//	at, err := done.Wait(ctx)
//
// A [Process] is a measured one. It is killed if the benchmark ends; its resource usage is read from /proc.
package plane
