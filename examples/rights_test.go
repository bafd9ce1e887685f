package examples_test

import (
	"os/exec"
	"path/filepath"
	"testing"

	"kanon.dev/kanon/internal/kanontest"
)

// kanonAccount is the user name of the ServiceAccount of deploy/base.
const kanonAccount = "system:serviceaccount:kanon-system:kanon"

// grantLeast grants the ServiceAccount of deploy/base what kanon rbac says that the rules need, and nothing else: what a scenario
// needs beyond that would be missing in every cluster that does as the documents say. The rights that the role of crd-roles grants are
// for an administrator to add, as the output of kanon rbac says.
func grantLeast(t *testing.T, cluster *kanontest.Cluster, rules []string) {
	t.Helper()
	for _, name := range []string{"namespace.yaml", "rbac.yaml"} {
		cluster.Apply(kanontest.ReadManifest(t, filepath.Join("..", "deploy", "base", name))...)
	}
	command := exec.CommandContext(t.Context(), kanontest.Binary(t), append([]string{"rbac", "--definitions", "--name", "kanon-examples"}, rules...)...)
	roles, err := command.Output()
	if err != nil {
		t.Fatalf("kanon rbac: %v", err)
	}
	cluster.Apply(kanontest.Objects(t, "kanon rbac", roles)...)
	cluster.Apply(kanontest.Objects(t, "what the role of crd-roles grants", []byte(`
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: kanon-examples-escalate}
rules:
- {apiGroups: [rbac.authorization.k8s.io], resources: [clusterroles], verbs: [escalate]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: kanon-examples-escalate}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: kanon-examples-escalate}
subjects: [{kind: ServiceAccount, name: kanon, namespace: kanon-system}]
`))...)
}
