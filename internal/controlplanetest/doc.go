// Package controlplanetest gives tests a real Kubernetes API server, with the
// controllers of cmd/controlplane and fake nodes beside it.
//
// A test binary shares one control plane among its tests. It is started at the
// first use, which takes a few seconds, and ended by [Main]. It also ends by
// itself when the test binary dies in any other way. A test that cannot have it
// fails; it is never skipped.
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
// A test that needs other settings, or wants to break things, starts one of its
// own:
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
