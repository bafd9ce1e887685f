package examples_test

import (
	"path/filepath"
	"testing"

	"kanon.dev/kanon/internal/kanontest"
)

// kanonAccount is the user name of the ServiceAccount of deploy/base.
const kanonAccount = "system:serviceaccount:kanon-system:kanon"

// grantLeast grants the ServiceAccount of deploy/base what kanon rbac says that the rules need, and nothing else: what a scenario
// needs beyond that would be missing in every cluster that does as the documents say.
func grantLeast(t *testing.T, cluster *kanontest.Cluster) {
	t.Helper()
	for _, name := range []string{"namespace.yaml", "rbac.yaml"} {
		cluster.Apply(kanontest.ReadManifest(t, filepath.Join("..", "deploy", "base", name))...)
	}
	cluster.Apply(kanontest.LeastRights(t, kanontest.Examples(t, "."), "--definitions")...)
}
