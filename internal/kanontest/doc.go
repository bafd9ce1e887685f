// Package kanontest runs the kanon program in tests, as a user would, and looks
// at what comes out.
//
// The program is built once for a test binary, by the command of the Dockerfile,
// and each [Process] is one run of it whose log can be waited for. A
// [Cluster] applies objects, watches them until they are as they should be, and
// says what differs when they do not become so. What an object should be is
// another object with the fields that matter: [Differences] compares them.
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
