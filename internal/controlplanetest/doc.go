// Package controlplanetest provides a real Kubernetes API server for tests, with the controllers of cmd/controlplane
// and fake nodes.
//
// The tests of a test binary share one control plane. It starts at the first use, which takes a few seconds, and [Main]
// stops it. It also stops if the test binary dies in any other way. If it cannot start, tests fail; they are never
// skipped. `make test` starts one for all test binaries, see [SharedVariable]; so a test must not depend on what else is
// in the cluster, and custom kinds need a group that no other package uses.
//
// # Example
//
//	func TestMain(m *testing.M) { os.Exit(controlplanetest.Main(m)) }
//
//	func TestDeployment(t *testing.T) {
//		config := controlplanetest.Config(t)
//		namespace := controlplanetest.Namespace(t, config)
//		client := kubernetes.NewForConfigOrDie(config)
//		// create a Deployment in namespace, watch it until it is available
//	}
//
// A test that needs other settings, or breaks things, starts a control plane of its own:
//
//	plane := controlplanetest.Start(t, controlplanetest.Options{
//		AuditLog:    filepath.Join(t.TempDir(), "audit.log"),
//		Controllers: []string{"garbage-collector", "namespace"},
//		Nodes:       new(int),
//	})
//	client := kubernetes.NewForConfigOrDie(plane.Config)
//
// The binary is built with `make bin/controlplane` in the root of the
// repository, unless the environment variable KANON_CONTROLPLANE names one.
package controlplanetest
