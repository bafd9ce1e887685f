// Package kanontest runs the kanon program in tests, as a user would, and checks the results.
//
// The program is built once for a test binary, unless the environment variable KANON_BINARY names one. Each [Process] is one run of it,
// with a log that tests can wait for. A [Cluster] applies objects, watches them until they are as expected, and reports
// the differences if they do not become so. The expected state is an object with the fields that matter: [Differences]
// compares them.
//
// # Example
//
//	func TestMain(m *testing.M) { os.Exit(kanontest.Main(m)) }
//
//	func TestRule(t *testing.T) {
//		cluster := kanontest.NewCluster(t, controlplanetest.Config(t))
//		cluster.Apply(kanontest.ReadManifest(t, "crd.yaml")...)
//		kanontest.Start(t, "run", "--kubeconfig", controlplanetest.Kubeconfig(t), "--rules", "rule.yaml")
//		cluster.Apply(kanontest.ReadManifest(t, "parent.yaml")...)
//		for _, want := range kanontest.ReadManifest(t, "children.yaml") {
//			cluster.AwaitMatch(want)
//		}
//	}
//
// A [Scenario] is a file with steps, which is played against a cluster in which Kanon runs:
//
//	steps:
//	- name: a Foo becomes a Deployment
//	  apply: [parent.yaml]                     # objects, or files with some
//	  await:                                   # fields that objects get
//	  - {apiVersion: apps/v1, kind: Deployment, metadata: {name: example-foo}, spec: {replicas: 1}}
//	- name: it goes with the Foo
//	  delete: [parent.yaml]
//	  gone: [{apiVersion: apps/v1, kind: Deployment, metadata: {name: example-foo}}]
//
// Nothing sleeps: each wait is a watch with a limit. If a step deletes an object and awaits it, the object must be a
// new one, with another UID. $NAMESPACE stands for the namespace of the scenario, which is also that of objects without
// one. A failure names the step and what is missing, and shows the conditions and Events of the applied objects.
//
// [EngineOptions] and [Definition] are for tests of an engine in the test binary itself.
package kanontest
