// Package deploy_test installs the kustomize base into a cluster, runs the
// program as the base's ServiceAccount with three examples, and holds the roles
// against what was requested.
package deploy_test

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/keyring"
	"kanon.dev/kanon/internal/controlplanetest"
	"kanon.dev/kanon/internal/kanontest"
	"kanon.dev/kanon/restmapping/openapi"
	"kanon.dev/kanon/rules"
	"kanon.dev/kanon/rules/syntax"
)

func TestMain(m *testing.M) { os.Exit(kanontest.Main(m)) }

const (
	namespace      = "kanon-system"
	serviceAccount = "kanon"
)

// TestBase tells one story, in parts that build on one another.
func TestBase(t *testing.T) {
	auditLog := filepath.Join(t.TempDir(), "audit.log")
	plane := controlplanetest.Start(t, controlplanetest.Options{AuditLog: auditLog})
	client, err := kubernetes.NewForConfig(plane.Config)
	if err != nil {
		t.Fatal(err)
	}
	kubectl := func(args ...string) string {
		t.Helper()
		return mustKubectl(t, plane, args...)
	}
	kubectl("apply", "-k", "base")
	kubectl("apply", "-f", "rbac-examples.yaml")
	cluster := kanontest.NewCluster(t, plane.Config)

	t.Run("the Deployment becomes available", func(t *testing.T) {
		cluster.In(t, namespace).AwaitMatch(kanontest.Object(t, `
apiVersion: apps/v1
kind: Deployment
metadata: {name: kanon}
status: {observedGeneration: 1, replicas: 2, readyReplicas: 2, availableReplicas: 2}
`))
	})
	t.Run("the namespace refuses what is not restricted", func(t *testing.T) {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "plain"},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "example.com/image"}}},
		}
		_, err := client.CoreV1().Pods(namespace).Create(t.Context(), pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "restricted") {
			t.Errorf("a Pod that says nothing of its security is answered with %v", err)
		}
	})
	t.Run("examples run with the rights that are granted", func(t *testing.T) {
		runExamples(cluster.For(t), client, kubeconfigOf(t, client, plane.Config))
	})
	t.Run("Kanon's requests have priorities of their own", func(t *testing.T) {
		checkDispatched(t, kubectl)
	})
	t.Run("kubectl shows Rule objects", func(t *testing.T) {
		lines := strings.Split(kubectl("get", "rules", "-n", namespace), "\n")
		if len(lines) < 2 {
			t.Fatalf("%q", lines)
		}
		if got := strings.Join(strings.Fields(lines[0]), " "); got != "NAME READY PARENT PARENTS CHILDREN AGE" {
			t.Errorf("the columns are %s", got)
		}
		if got := strings.Fields(lines[1]); len(got) != 6 || got[0] != "foo" || got[1] != "True" || got[2] != "Foo" || got[3] != "1" {
			t.Errorf("the rule is shown as %q", got)
		}
	})
	t.Run("no right is missing and none is idle", func(t *testing.T) {
		compareRights(t, client, readAuditLog(t, auditLog))
	})
	t.Run("what must not be allowed is not", func(t *testing.T) {
		checkRefusals(t, client)
	})
}

// kubeconfigOf writes a kubeconfig file with a token of the ServiceAccount.
func kubeconfigOf(t *testing.T, client kubernetes.Interface, admin *rest.Config) string {
	t.Helper()
	token, err := client.CoreV1().ServiceAccounts(namespace).CreateToken(t.Context(), serviceAccount,
		&authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	config := clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"it": {Server: admin.Host, CertificateAuthorityData: admin.CAData}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{"it": {Token: token.Status.Token}},
		Contexts:       map[string]*clientcmdapi.Context{"it": {Cluster: "it", AuthInfo: "it"}},
		CurrentContext: "it",
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(config, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// runExamples runs the program as the Deployment would, with the examples that
// rbac-examples.yaml is for, from the first object to the last: made, changed, put
// right and pruned.
func runExamples(cluster *kanontest.Cluster, client kubernetes.Interface, kubeconfig string) {
	cluster.Helper()
	kanon := kanontest.Start(cluster, append(installedArguments(cluster, client), "--kubeconfig", kubeconfig)...)
	readMetrics(cluster, client, kanon)
	all := loadExamples(cluster)

	for _, e := range all { // before there are the kinds: rules wait for them
		cluster.ApplyRules(namespace, e.name, e.rule)
	}
	for _, e := range all {
		cluster.Apply(e.kinds...)
		cluster.AwaitVerdict(namespace, e.name, true, "")
	}
	for _, e := range all {
		cluster.Apply(e.parent)
	}
	storefront := kanontest.Ref("shop.example.com/v1", "WebApp", "storefront")
	autoscaler := kanontest.Ref("autoscaling/v2", "HorizontalPodAutoscaler", "storefront")
	children := []*unstructured.Unstructured{autoscaler}
	for _, e := range all {
		for _, obj := range e.want {
			cluster.AwaitMatch(obj)
			if obj.GroupVersionKind() != e.parent.GroupVersionKind() {
				children = append(children, obj)
			}
		}
	}
	cluster.Patch(storefront, `{"spec": {"autoscaling": {"maxReplicas": 5}}}`)
	cluster.Await(autoscaler, func(*unstructured.Unstructured) error { return nil })
	// A change of values is an update, as long as nobody else has written to the child.
	cluster.Patch(kanontest.Ref("samplecontroller.k8s.io/v1alpha1", "Foo", "example-foo"), `{"spec": {"replicas": 2}}`)
	cluster.AwaitMatch(kanontest.Object(cluster, `
apiVersion: apps/v1
kind: Deployment
metadata: {name: example-foo}
spec: {replicas: 2}
`))

	for _, child := range children {
		putRight(cluster, child)
	}
	rotateKeys(cluster.In(cluster.TB, namespace))
	for _, e := range all {
		withdraw(cluster, e)
	}
	for _, child := range children {
		cluster.AwaitGone(child)
	}
	removed := cluster.In(cluster.TB, namespace)
	removed.Delete(kanontest.Ref("v1", "ConfigMap", all[0].name))
	record := kanontest.Ref("v1", "ConfigMap", "kanon-state-"+mark.RuleID(namespace, namespace, all[0].name))
	removed.AwaitGone(record)

	object := kanontest.Object(cluster.TB, all[0].rule)
	object.SetNamespace(namespace)
	removed.Apply(object)
	removed.Await(object, func(live *unstructured.Unstructured) error {
		if kanontest.ConditionStatus(live, "Ready") != "True" {
			return errors.New("the Rule object is not in force")
		}
		return nil
	})
	if err := kanon.Stop(); err != nil {
		cluster.Error(err)
	}
	for line := range strings.Lines(kanon.Log()) {
		refused := strings.Contains(line, "not in force as written")                                             // this test breaks a rule
		cutOff := strings.Contains(line, "context canceled")                                                     // the answer about the record, by the end
		forbidden := strings.Contains(line, "forbidden") && !strings.Contains(line, "customresourcedefinitions") // which an administrator applies
		if (strings.Contains(line, `"level":"ERROR"`) && !refused && !cutOff) || forbidden {
			cluster.Errorf("kanon complains: %s", line)
		}
	}
}

// readMetrics reads the metrics as a ServiceAccount may that has the role for it, which takes Kanon's own rights to review that.
func readMetrics(cluster *kanontest.Cluster, client kubernetes.Interface, kanon *kanontest.Process) {
	cluster.Helper()
	cluster.Apply(
		kanontest.Object(cluster.TB, "{apiVersion: v1, kind: ServiceAccount, metadata: {name: prometheus, namespace: default}}"),
		kanontest.Object(cluster.TB, `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: prometheus}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: kanon-metrics-reader}
subjects: [{kind: ServiceAccount, name: prometheus, namespace: default}]
`))
	token, err := client.CoreV1().ServiceAccounts("default").CreateToken(cluster.Context(), "prometheus", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		cluster.Fatal(err)
	}
	code, body := kanon.Fetch(cluster.TB, "metrics", "/metrics", token.Status.Token)
	if code != http.StatusOK || !strings.Contains(body, "\ngo_goroutines ") {
		cluster.Errorf("the metrics: %d %s", code, body)
	}
}

// putRight takes a child out of order and waits until it is put right: first so that a value differs, then so that it is not
// known what does.
func putRight(cluster *kanontest.Cluster, child *unstructured.Unstructured) {
	cluster.Helper()
	const applied = "kanon.dev/applied"
	const rule = "kanon.dev/rule"
	before := cluster.Get(child).GetLabels()[rule]
	cluster.Patch(child, `{"metadata": {"labels": {"`+rule+`": "broken"}}}`)
	cluster.Await(child, func(live *unstructured.Unstructured) error {
		if live.GetLabels()[rule] != before {
			return errors.New("its label was not put right")
		}
		return nil
	})
	before = cluster.Get(child).GetAnnotations()[applied]
	cluster.Patch(child, `{"metadata": {"annotations": {"`+applied+`": "broken"}}}`)
	cluster.Await(child, func(live *unstructured.Unstructured) error {
		if live.GetAnnotations()[applied] != before {
			return errors.New("it was not put right")
		}
		return nil
	})
}

// rotateKeys asks for a new key and waits until there is one.
func rotateKeys(cluster *kanontest.Cluster) {
	cluster.Helper()
	keys := kanontest.Ref("v1", "Secret", keyring.SecretName)
	cluster.Patch(keys, `{"metadata": {"annotations": {"`+keyring.AnnotationRotate+`": "now"}}}`)
	cluster.Await(keys, func(live *unstructured.Unstructured) error {
		if _, wanted := live.GetAnnotations()[keyring.AnnotationRotate]; wanted {
			return errors.New("there is no new key")
		}
		return nil
	})
}

// withdraw breaks an example's rule and mends it so that it is for no parent any
// more. The Event about the mended rule repeats an earlier one.
func withdraw(cluster *kanontest.Cluster, e example) {
	cluster.Helper()
	const parent = "\n  parent:\n"
	cluster.ApplyRules(namespace, e.name, strings.Replace(e.rule, parent, parent+"    wen: ${false}\n", 1))
	cluster.AwaitVerdict(namespace, e.name, false, "wen")
	cluster.ApplyRules(namespace, e.name, strings.Replace(e.rule, parent, parent+"    when: ${false}\n", 1))
	cluster.AwaitVerdict(namespace, e.name, true, "")
}

// example is one of those in examples/. want is what the first step of its scenario
// awaits.
type example struct {
	name, rule string
	kinds      []*unstructured.Unstructured
	parent     *unstructured.Unstructured
	want       []*unstructured.Unstructured
}

func loadExamples(tb testing.TB) []example {
	tb.Helper()
	var all []example
	for _, name := range []string{"foo", "namespace-baseline", "webapp"} {
		dir := filepath.Join("..", "examples", name)
		rule, err1 := os.ReadFile(filepath.Join(dir, "rule.yaml"))
		scenario, err2 := kanontest.ReadScenario(dir)
		if err := errors.Join(err1, err2); err != nil {
			tb.Fatal(err)
		}
		want, err := scenario.Objects(scenario.Steps[0].Await, metav1.NamespaceDefault)
		if err != nil {
			tb.Fatal(err)
		}
		e := example{
			name: name, rule: string(rule), want: want,
			parent: kanontest.ReadManifest(tb, filepath.Join(dir, "parent.yaml"))[0],
		}
		docs, _ := syntax.Decode("rule.yaml", rule)
		rules.Inference{Schemas: openapi.Builtin{}}.Infer(&docs)
		e.kinds = docs.CRDs // an admin applies them: the rights of Kanon are the least
		all = append(all, e)
	}
	return all
}
