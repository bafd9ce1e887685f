// Package kanontest runs the kanon program in tests, as a user would, and checks the results.
//
// The program is built once for a test binary, with the command of the Dockerfile. Each [Process] is one run of it,
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
package kanontest
