package deploy_test

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"kanon.dev/kanon/internal/controlplanetest"
	"kanon.dev/kanon/internal/kanontest"
)

// tenantRule copies each ConfigMap of a tenant that has a label.
const tenantRule = `
apiVersion: v1
kind: ConfigMap
metadata:
  name: copies
  labels: {kanon.dev/rules: "true"}
data:
  rule.yaml: |
    apiVersion: kanon.dev/v1alpha1
    kind: Rule
    metadata: {name: copies}
    spec:
      parent: {apiVersion: v1, kind: ConfigMap, selector: {matchLabels: {copy: "yes"}}}
      children:
      - id: copy
        template:
          apiVersion: v1
          kind: ConfigMap
          metadata: {name: "${parent.metadata.name}-copy"}
          data: ${parent.data}
`

// A tenant may write what others may in his namespace.
const tenantRole = `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: %[1]s, namespace: %[2]s}
rules: [%[3]s]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: %[1]s, namespace: %[2]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: %[1]s}
subjects: [%[4]s]
`

// TestTenants: with the profile for tenants, Kanon, under the rights of the profile alone, runs the rules of those namespaces that an
// administrator has chosen. Who may write ConfigMaps, and not rules, writes no rule, and nothing of what Kanon remembers.
func TestTenants(t *testing.T) {
	plane := controlplanetest.Start(t, controlplanetest.Options{Controllers: []string{"namespace", "garbage-collector", "clusterrole-aggregation-controller"}, Nodes: new(int)})
	client, err := kubernetes.NewForConfig(plane.Config)
	if err != nil {
		t.Fatal(err)
	}
	cluster := kanontest.NewCluster(t, plane.Config).For(t)
	mustKubectl(t, plane, "apply", "-k", "profiles/tenants")
	const configMaps = `{apiGroups: [""], resources: [configmaps], verbs: ["*"]}`
	const alice, account = `{kind: User, apiGroup: rbac.authorization.k8s.io, name: alice}`, `{kind: ServiceAccount, name: kanon-tenant, namespace: team-a}`
	for _, name := range []string{"team-a", "team-b"} {
		mustKubectl(t, plane, "create", "namespace", name)
		apply(t, plane, fmt.Sprintf(tenantRole, "alice", name, configMaps, alice))
		apply(t, plane, fmt.Sprintf(tenantRole, "rules", name, configMaps, strings.Replace(account, "team-a", name, 1)))
	}
	apply(t, plane, fmt.Sprintf(tenantRole, "alice", namespace, configMaps, alice))
	mustKubectl(t, plane, "-n", "team-a", "create", "rolebinding", "kanon-tenant", "--clusterrole", "kanon-tenant", "--serviceaccount", "kanon-system:kanon")

	// The policies are in force a moment after they were stored.
	denied := func(text string, args ...string) {
		t.Helper()
		var output string
		if err := wait.PollUntilContextTimeout(t.Context(), 200*time.Millisecond, 4*time.Minute, true, func(ctx context.Context) (bool, error) {
			output, err = kubectlIn(ctx, plane, tenantRule, append(args, "--dry-run=server")...)
			return err != nil && strings.Contains(output, text), nil
		}); err != nil {
			t.Fatalf("kubectl %v says %q, want %q", args, output, text)
		}
	}
	denied("alice may not create rules.kanon.dev in namespace team-a", "create", "--as", "alice", "-n", "team-a", "-f", "-")
	denied("only Kanon writes it", "create", "configmap", "kanon-state-mine", "--as", "alice", "-n", namespace)
	const generated = "{apiVersion: v1, kind: ConfigMap, metadata: {generateName: kanon-state-}}"
	if output, err := kubectlWith(t, plane, generated, "create", "--as", "alice", "-n", namespace, "-f", "-"); err == nil || !strings.Contains(output, "only Kanon writes it") {
		t.Errorf("a record with a generated name is answered with (%v) %s", err, output)
	}
	testAnnotatesRecords(t, plane)
	if output, err := kubectlWith(t, plane, "", "create", "configmap", "harmless", "--as", "alice", "-n", namespace); err != nil {
		t.Errorf("a ConfigMap that is neither was refused: %s", output)
	}
	mustKubectl(t, plane, "-n", "team-a", "create", "configmap", "later")
	denied("alice may not update rules.kanon.dev in namespace team-a", "label", "configmap", "later", "kanon.dev/rules=true", "--as", "alice", "-n", "team-a")

	kanon := kanontest.Start(t, append(installedArguments(t, client), "--kubeconfig", kubeconfigOf(t, client, plane.Config))...)
	for _, name := range []string{"team-a", "team-b"} {
		apply(t, plane, fmt.Sprintf(tenantRole, "writes-rules", name, `{apiGroups: [kanon.dev], resources: [rules], verbs: [create, update, delete]}`, alice))
		awaitAllowed(t, plane, tenantRule, "create", "--as", "alice", "-n", name, "-f", "-")
		mustKubectl(t, plane, "-n", name, "create", "configmap", "settings", "--from-literal=a=b")
		mustKubectl(t, plane, "-n", name, "label", "configmap", "settings", "copy=yes")
	}
	for _, label := range []string{"kanon.dev/rules=true", "kanon.dev/rules-"} {
		if output, err := kubectlWith(t, plane, "", "label", "configmap", "later", label, "--as", "alice", "-n", "team-a"); err != nil {
			t.Errorf("who may write rules could not label a ConfigMap %s: %s", label, output)
		}
	}
	cluster.AwaitVerdict("team-a", "copies", true, "")
	copied := kanontest.Ref("v1", "ConfigMap", "settings-copy")
	copied.SetNamespace("team-a")
	cluster.Await(copied, func(*unstructured.Unstructured) error { return nil })

	// The other tenant was not chosen: Kanon has tried what his rule wants, and may not.
	cluster.In(t, "team-b").AwaitMessage("settings", "Forbidden", "cannot impersonate-on:serviceaccount:create")
	copied.SetNamespace("team-b")
	if cluster.IsThere(copied) {
		t.Error("a rule runs in a namespace that nobody has chosen")
	}
	mustKubectl(t, plane, "-n", "team-b", "create", "rolebinding", "kanon-tenant", "--clusterrole", "kanon-tenant", "--serviceaccount", "kanon-system:kanon")
	cluster.Await(copied, func(*unstructured.Unstructured) error { return nil })

	if output, err := kubectlWith(t, plane, "", "delete", "configmap", "copies", "--as", "alice", "-n", "team-a"); err != nil {
		t.Errorf("who may delete rules could not: %s", output)
	}
	if err := kanon.Stop(); err != nil {
		t.Error(err)
	}
}

func apply(t *testing.T, plane *controlplanetest.ControlPlane, text string) {
	t.Helper()
	if output, err := kubectlWith(t, plane, text, "apply", "-f", "-"); err != nil {
		t.Fatal(output)
	}
}

// awaitAllowed runs kubectl until the API server no longer forbids it: the authorizers, that of the policies among them, go by a right a
// moment after it was stored.
func awaitAllowed(t *testing.T, plane *controlplanetest.ControlPlane, text string, args ...string) {
	t.Helper()
	var output string
	if err := wait.PollUntilContextTimeout(t.Context(), 200*time.Millisecond, 4*time.Minute, true, func(ctx context.Context) (bool, error) {
		var err error
		output, err = kubectlIn(ctx, plane, text, args...)
		if forbidden := strings.Contains(strings.ToLower(output), "forbidden"); err != nil && !forbidden {
			return false, err
		}
		return err == nil, nil
	}); err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, output)
	}
}

// kubectlWith runs kubectl with a text on standard input.
func kubectlWith(t *testing.T, plane *controlplanetest.ControlPlane, text string, args ...string) (output string, err error) {
	t.Helper()
	return kubectlIn(t.Context(), plane, text, args...)
}

func kubectlIn(ctx context.Context, plane *controlplanetest.ControlPlane, text string, args ...string) (output string, err error) {
	kubectl := exec.CommandContext(ctx, plane.Kubectl, append([]string{"--kubeconfig", plane.Kubeconfig}, args...)...)
	kubectl.Stdin = strings.NewReader(text)
	combined, err := kubectl.CombinedOutput()
	return string(combined), err
}

// testAnnotatesRecords tests that who may write rules in Kanon's namespace may annotate a record, as kanon confirm-prune does, and change
// nothing else of it. The policies are in force.
func testAnnotatesRecords(t *testing.T, plane *controlplanetest.ControlPlane) {
	t.Helper()
	const user = `{kind: User, apiGroup: rbac.authorization.k8s.io, name: %s}`
	const configMaps = `{apiGroups: [""], resources: [configmaps], verbs: ["*"]}`
	apply(t, plane, fmt.Sprintf(tenantRole, "bob", namespace, configMaps+`, {apiGroups: [kanon.dev], resources: [rules], verbs: [update]}`, fmt.Sprintf(user, "bob")))
	mustKubectl(t, plane, "-n", namespace, "create", "configmap", "kanon-state-mine", "--from-literal=record={}")
	mustKubectl(t, plane, "-n", namespace, "label", "configmap", "kanon-state-mine", "a=b")
	awaitAllowed(t, plane, "", "annotate", "configmap", "kanon-state-mine", "kanon.dev/confirm-prune=1", "--as", "bob", "-n", namespace, "--dry-run=server")
	for _, as := range []string{"bob", "alice"} {
		for args, allowed := range map[string]bool{
			"annotate configmap kanon-state-mine kanon.dev/confirm-prune=1":                                                                              as == "bob",
			"label configmap kanon-state-mine kanon.dev/state=true":                                                                                      false,
			"delete configmap kanon-state-mine":                                                                                                          false,
			`patch configmap kanon-state-mine --type=merge -p {"data":{"record":"x"}}`:                                                                   false,
			`patch configmap kanon-state-mine --type=merge -p {"data":null}`:                                                                             false,
			`patch configmap kanon-state-mine --type=merge -p {"immutable":true}`:                                                                        false,
			`patch configmap kanon-state-mine --type=merge -p {"binaryData":{"a":"YQ=="}}`:                                                               false,
			`patch configmap kanon-state-mine --type=merge -p {"metadata":{"finalizers":["a/b"]}}`:                                                       false,
			`patch configmap kanon-state-mine --type=merge -p {"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"n","uid":"u"}]}}`: false,
		} {
			output, err := kubectlWith(t, plane, "", append(strings.Fields(args), "--as", as, "-n", namespace, "--dry-run=server")...)
			if (err == nil) != allowed || !allowed && !strings.Contains(output, "only Kanon writes it") {
				t.Errorf("kubectl %s as %s: %v %s", args, as, err, output)
			}
		}
	}
	mustKubectl(t, plane, "-n", namespace, "delete", "configmap", "kanon-state-mine")
}
