package deploy_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"kanon.dev/kanon/author/manifests"
	"kanon.dev/kanon/internal/controlplanetest"
	"kanon.dev/kanon/internal/kanontest"
	"kanon.dev/kanon/rules"
)

// tenantOf lets the rules of a namespace act with the rights %[2]s, and Kanon watch what they are about.
const tenantOf = `
apiVersion: v1
kind: ServiceAccount
metadata: {name: kanon-tenant, namespace: %[1]s}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: events, namespace: %[1]s}
rules: [{apiGroups: [""], resources: [events], verbs: [create, patch]}] # which Kanon itself always may
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: events, namespace: %[1]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: events}
subjects: [{kind: ServiceAccount, name: kanon-tenant, namespace: %[1]s}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: rules, namespace: %[1]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: %[2]s}
subjects: [{kind: ServiceAccount, name: kanon-tenant, namespace: %[1]s}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: kanon-reads, namespace: %[1]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: %[2]s-read}
subjects: [{kind: ServiceAccount, name: kanon, namespace: kanon-system}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: kanon-tenant, namespace: %[1]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: kanon-tenant}
subjects: [{kind: ServiceAccount, name: kanon, namespace: kanon-system}]
`

// TestTenantExamples plays the examples that fit a namespace under the profile for tenants: each as the rule of a tenant of its own, and
// Kanon under the rights of the profile. An example does not fit if the compiler refuses its rule for a tenant, or if its scenario has
// objects outside of one namespace.
func TestTenantExamples(t *testing.T) {
	controlplanetest.Nightly(t)
	plane := controlplanetest.Start(t, controlplanetest.Options{})
	client, err := kubernetes.NewForConfig(plane.Config)
	if err != nil {
		t.Fatal(err)
	}
	cluster := kanontest.NewCluster(t, plane.Config)
	mustKubectl(t, plane, "apply", "-k", "profiles/tenants")
	all := kanontest.Examples(t, "../examples")
	for _, e := range all {
		cluster.Apply(e.Kinds...)
	}
	rights := kanontest.OfKind("ClusterRole", kanontest.LeastRights(t, all))[0]
	cluster.Apply(rights, readOnly(t, rights))
	fit := slices.DeleteFunc(slices.Clone(all), func(e kanontest.Example) bool {
		reason := beyondNamespace(t, cluster, e)
		if reason != "" {
			t.Logf("%s does not fit a namespace: %s", e.Name, reason)
		}
		return reason != ""
	})
	if len(fit) < len(all)/3 {
		t.Errorf("%d of %d examples fit a namespace", len(fit), len(all))
	}
	kanontest.Start(t, append(installedArguments(t, client), "--kubeconfig", kubeconfigOf(t, client, plane.Config))...)
	kanontest.PlayAll(t, fit, func(t *testing.T, e kanontest.Example) *kanontest.Cluster {
		t.Helper()
		tenant := cluster.In(t, controlplanetest.Namespace(t, plane.Config))
		tenant.Apply(kanontest.Objects(t, "a tenant", fmt.Appendf(nil, tenantOf, tenant.Namespace(), rights.GetName()))...)
		for _, rule := range tenantRules(t, e) {
			tenant.Apply(rule)
			tenant.Await(rule, func(live *unstructured.Unstructured) error {
				if kanontest.ConditionStatus(live, "Ready") != "True" {
					return errors.New("the rule is not in force")
				}
				return nil
			})
		}
		return tenant
	})
}

// tenantRules are the rules of an example as a tenant writes them, for whom an administrator has installed the kinds.
func tenantRules(t *testing.T, e kanontest.Example) []*unstructured.Unstructured {
	t.Helper()
	all := kanontest.OfKind("Rule", kanontest.Objects(t, e.Path, []byte(e.Rule)))
	for _, rule := range all {
		unstructured.RemoveNestedField(rule.Object, "spec", "parent", "schema")
	}
	return all
}

// beyondNamespace says why an example does not fit a namespace; empty: it does.
func beyondNamespace(t *testing.T, cluster *kanontest.Cluster, e kanontest.Example) string {
	t.Helper()
	for _, step := range e.Scenario.Steps {
		objects, err := e.Scenario.Objects(slices.Concat(step.Apply, step.Patch, step.Status, step.Delete, step.Await, step.Gone), namespace)
		if err != nil {
			t.Fatal(err)
		}
		for _, object := range objects {
			if other := object.GetNamespace(); other != "" || !cluster.IsNamespaced(object) {
				return fmt.Sprintf("its scenario has %s %s/%s", object.GetKind(), other, object.GetName())
			}
		}
	}
	text := func(objects []*unstructured.Unstructured) []byte {
		var documents []byte
		for _, object := range objects {
			document, err := yaml.Marshal(object.Object)
			if err != nil {
				t.Fatal(err)
			}
			documents = append(append(documents, "\n---\n"...), document...)
		}
		return documents
	}
	kinds, err := manifests.BuiltinKinds()
	if err != nil {
		t.Fatal(err)
	}
	checked, err := manifests.Check(t.Context(), []manifests.File{{Name: e.Path, Data: text(tenantRules(t, e))}},
		[]manifests.File{{Name: "kinds.yaml", Data: text(e.Kinds)}}, kinds, rules.Options{Namespace: "tenant", Confined: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := checked.Findings.Err(); err != nil {
		return err.Error()
	}
	return ""
}

// readOnly is a role with the rights of another one to read.
func readOnly(t *testing.T, role *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	read := role.DeepCopy()
	read.SetName(role.GetName() + "-read")
	all, _, err := unstructured.NestedSlice(read.Object, "rules")
	if err != nil {
		t.Fatal(err)
	}
	for _, item := range all {
		if rule, ok := item.(map[string]any); ok {
			rule["verbs"] = []any{"get", "list", "watch"}
		}
	}
	if err := unstructured.SetNestedSlice(read.Object, all, "rules"); err != nil {
		t.Fatal(err)
	}
	return read
}
