package controlplanetest

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
)

// waitLimit bounds waits for what takes a second or two on a quiet machine.
const waitLimit = 2 * time.Minute

func TestVersion(t *testing.T) {
	client := kubernetes.NewForConfigOrDie(Config(t))
	version, err := client.Discovery().ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	if version.GitVersion != "v1.36.3" || version.Major != "1" || version.Minor != "36" {
		t.Errorf("the API server calls itself %s (%s.%s), want v1.36.3 (1.36)", version.GitVersion, version.Major, version.Minor)
	}
}

func TestSharedIsOne(t *testing.T) {
	first, second := Config(t), Config(t)
	if first == second {
		t.Error("two tests were given one configuration, so one can change the other's")
	}
	if first.Host != second.Host {
		t.Errorf("two control planes were started: %s and %s", first.Host, second.Host)
	}
	if first.Insecure || len(first.CAData) == 0 {
		t.Error("the configuration does not check the server's certificate")
	}
}

// TestWorkloads shows that what kubectl applies gets ready on the fake nodes.
func TestWorkloads(t *testing.T) {
	const pod = `
    metadata: {labels: {app: %[1]s}}
    spec: {containers: [{name: main, image: example.com/image}]}
`
	const selector = `
  selector: {matchLabels: {app: %[1]s}}
  template:` + pod
	tests := map[string]string{
		"deployment":  "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: %[1]s}\nspec:\n  replicas: 3" + selector,
		"statefulset": "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: %[1]s}\nspec:\n  replicas: 2\n  serviceName: none" + selector,
		"daemonset":   "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: %[1]s}\nspec:" + selector,
	}
	namespace := Namespace(t, Config(t))
	for kind, manifest := range tests {
		t.Run(kind, func(t *testing.T) {
			name := "of-" + kind
			kubectl(t, fmt.Sprintf(manifest, name), "--namespace", namespace, "apply", "-f", "-")
			kubectl(t, "", "--namespace", namespace, "rollout", "status", kind+"/"+name, "--timeout", waitLimit.String())
			output := kubectl(t, "", "--namespace", namespace, "get", kind, name, "-o", "jsonpath={.metadata.managedFields[*].manager}")
			managers := slices.Sorted(strings.FieldsSeq(output))
			if want := []string{"kube-controller-manager", "kubectl-client-side-apply"}; !slices.Equal(managers, want) {
				t.Errorf("its fields are managed by %q, want %q", managers, want)
			}
		})
	}
}

// kubectl runs kubectl against the shared control plane and returns its output.
func kubectl(t *testing.T, input string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), Kubectl(t), append([]string{"--kubeconfig", Kubeconfig(t)}, args...)...)
	cmd.Stdin = strings.NewReader(input)
	output, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, output)
	}
	return string(output)
}

func TestJobCompletes(t *testing.T) {
	config := Config(t)
	client := kubernetes.NewForConfigOrDie(config).BatchV1().Jobs(Namespace(t, config))
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	job, err := client.Create(ctx, &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: "once"},
		Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever,
			Containers:    []corev1.Container{{Name: "main", Image: "example.com/image"}},
		}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	events, err := client.Watch(ctx, metav1.ListOptions{
		FieldSelector:   fields.OneTermEqualSelector("metadata.name", job.Name).String(),
		ResourceVersion: job.ResourceVersion,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer events.Stop()
	for event := range events.ResultChan() {
		for _, condition := range event.Object.(*batchv1.Job).Status.Conditions {
			if condition.Type == batchv1.JobComplete && condition.Status == corev1.ConditionTrue {
				return
			}
		}
	}
	t.Fatalf("the Job did not complete in %s", waitLimit)
}

// TestCronJob shows that a CronJob starts the Job that is due and hears of its
// end. The Job is due at once, because the CronJob says of itself that it last
// ran three hours ago; the schedule has no other time near.
func TestCronJob(t *testing.T) {
	config := Config(t)
	namespace := Namespace(t, config)
	client := dynamic.NewForConfigOrDie(config)
	batch := schema.GroupVersion{Group: "batch", Version: "v1"}
	cronJobs := client.Resource(batch.WithResource("cronjobs")).Namespace(namespace)
	now := time.Now().UTC()
	due := now.Add(-time.Hour).Truncate(time.Minute)

	cronJob := newObject(batch.String(), "CronJob", "daily")
	cronJob.Object["spec"] = map[string]any{
		"schedule": fmt.Sprintf("%d %d * * *", due.Minute(), due.Hour()),
		"timeZone": "Etc/UTC",
		"suspend":  true,
		"jobTemplate": map[string]any{"spec": map[string]any{"template": map[string]any{"spec": map[string]any{
			"restartPolicy": "Never",
			"containers":    []any{map[string]any{"name": "main", "image": "example.com/image"}},
		}}}},
	}
	cronJob = create(t, cronJobs, cronJob)
	cronJob.Object["status"] = map[string]any{"lastScheduleTime": now.Add(-3 * time.Hour).Format(time.RFC3339)}
	cronJob, err := cronJobs.UpdateStatus(t.Context(), cronJob, metav1.UpdateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	cronJob.Object["spec"].(map[string]any)["suspend"] = false
	if cronJob, err = cronJobs.Update(t.Context(), cronJob, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}

	var last string
	waitFor(t, cronJobs, cronJob, func(event watch.Event) bool {
		object := event.Object.(*unstructured.Unstructured).Object
		last, _, _ = unstructured.NestedString(object, "status", "lastScheduleTime")
		_, succeeded, _ := unstructured.NestedString(object, "status", "lastSuccessfulTime")
		return succeeded
	})
	if want := due.Format(time.RFC3339); last != want {
		t.Errorf("a Job was started for %s, want %s", last, want)
	}
	jobs, err := client.Resource(batch.WithResource("jobs")).Namespace(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(jobs.Items) != 1 || !metav1.IsControlledBy(&jobs.Items[0], cronJob) {
		t.Errorf("the Jobs are %v, want one that the CronJob controls", jobs.Items)
	}
}

// TestResourceQuota shows that a quota is kept, and that what is deleted no
// longer counts.
func TestResourceQuota(t *testing.T) {
	config := Config(t)
	namespace := Namespace(t, config)
	core := schema.GroupVersion{Version: "v1"}
	client := func(resource string) dynamic.ResourceInterface {
		return dynamic.NewForConfigOrDie(config).Resource(core.WithResource(resource)).Namespace(namespace)
	}
	pods, quotas := client("pods"), client("resourcequotas")
	quota := newObject("v1", "ResourceQuota", "one-pod")
	quota.Object["spec"] = map[string]any{"hard": map[string]any{"pods": "1"}}
	quota = create(t, quotas, quota)
	uses := func(want string) {
		t.Helper()
		waitFor(t, quotas, quota, func(event watch.Event) bool {
			quota = event.Object.(*unstructured.Unstructured)
			used, _, _ := unstructured.NestedString(quota.Object, "status", "used", "pods")
			return used == want
		})
	}
	uses("0")
	// No Pod is accepted before its service account is there.
	waitFor(t, client("serviceaccounts"), newObject("v1", "ServiceAccount", "default"), func(event watch.Event) bool {
		return event.Type == watch.Added
	})

	pod := func(name string) *unstructured.Unstructured {
		object := newObject("v1", "Pod", name)
		object.Object["spec"] = map[string]any{"containers": []any{map[string]any{"name": "main", "image": "example.com/image"}}}
		return object
	}
	create(t, pods, pod("first"))
	uses("1")
	_, err := pods.Create(t.Context(), pod("second"), metav1.CreateOptions{})
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "exceeded quota: one-pod") {
		t.Errorf("a second Pod is answered with %v, want that the quota forbids it", err)
	}
	if err := pods.Delete(t.Context(), "first", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	// That a Pod is accepted again now is left out: the API server's admission
	// learns of the room from a cache of its own, at a time that nobody is told.
	uses("0")
}

// TestClusterRoleAggregation shows that a ClusterRole is given the rules of those
// that its selector names.
func TestClusterRoleAggregation(t *testing.T) {
	roles := dynamic.NewForConfigOrDie(Config(t)).Resource(schema.GroupVersionResource{
		Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles",
	})
	createRole := func(role *unstructured.Unstructured) *unstructured.Unstructured {
		role = create(t, roles, role)
		t.Cleanup(func() {
			if err := roles.Delete(context.Background(), role.GetName(), metav1.DeleteOptions{}); err != nil {
				t.Errorf("delete ClusterRole: %v", err)
			}
		})
		return role
	}
	const label = "controlplanetest.kanon.dev/part-of"
	whole := newObject("rbac.authorization.k8s.io/v1", "ClusterRole", "controlplanetest-whole")
	whole.Object["aggregationRule"] = map[string]any{"clusterRoleSelectors": []any{
		map[string]any{"matchLabels": map[string]any{label: "whole"}},
	}}
	whole = createRole(whole)
	rules := []any{map[string]any{
		"apiGroups": []any{"controlplanetest.kanon.dev"}, "resources": []any{"wholes"}, "verbs": []any{"get", "list"},
	}}
	part := newObject("rbac.authorization.k8s.io/v1", "ClusterRole", "controlplanetest-part")
	part.SetLabels(map[string]string{label: "whole"})
	part.Object["rules"] = rules
	createRole(part)
	waitFor(t, roles, whole, func(event watch.Event) bool {
		got, _, _ := unstructured.NestedSlice(event.Object.(*unstructured.Unstructured).Object, "rules")
		return cmp.Equal(got, rules)
	})
}

// TestGarbageCollection shows that a child goes with its parent, also when the
// parent's kind is only a moment old.
func TestGarbageCollection(t *testing.T) {
	config := Config(t)
	client := dynamic.NewForConfigOrDie(config)
	configMaps := schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	things := installThings(t, client)
	tests := map[string]struct {
		resource   schema.GroupVersionResource
		apiVersion string
		kind       string
	}{
		"built-in parent": {configMaps, "v1", "ConfigMap"},
		"new custom kind": {things, things.GroupVersion().String(), "Thing"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			namespace := Namespace(t, config)
			parents := client.Resource(test.resource).Namespace(namespace)
			children := client.Resource(configMaps).Namespace(namespace)
			parent := create(t, parents, newObject(test.apiVersion, test.kind, "parent"))
			child := newObject("v1", "ConfigMap", "child")
			child.SetOwnerReferences([]metav1.OwnerReference{{
				APIVersion: test.apiVersion, Kind: test.kind, Name: parent.GetName(), UID: parent.GetUID(),
			}})
			child = create(t, children, child)
			if err := parents.Delete(t.Context(), parent.GetName(), metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			waitDeleted(t, children, child)
		})
	}
}

// installThings creates a CustomResourceDefinition and returns its resource as
// soon as the API server takes objects of it.
func installThings(t *testing.T, client dynamic.Interface) schema.GroupVersionResource {
	t.Helper()
	things := schema.GroupVersionResource{Group: "controlplanetest.kanon.dev", Version: "v1", Resource: "things"}
	definitions := client.Resource(schema.GroupVersionResource{
		Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions",
	})
	definition := newObject("apiextensions.k8s.io/v1", "CustomResourceDefinition", things.GroupResource().String())
	definition.Object["spec"] = map[string]any{
		"group": things.Group,
		"scope": "Namespaced",
		"names": map[string]any{"kind": "Thing", "plural": things.Resource},
		"versions": []any{map[string]any{
			"name": things.Version, "served": true, "storage": true,
			"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object"}},
		}},
	}
	definition = create(t, definitions, definition)
	t.Cleanup(func() {
		if err := definitions.Delete(context.Background(), definition.GetName(), metav1.DeleteOptions{}); err != nil {
			t.Errorf("delete definition: %v", err)
		}
	})
	waitFor(t, definitions, definition, func(event watch.Event) bool {
		conditions, _, _ := unstructured.NestedSlice(event.Object.(*unstructured.Unstructured).Object, "status", "conditions")
		for _, condition := range conditions {
			if fields := condition.(map[string]any); fields["type"] == "Established" && fields["status"] == "True" {
				return true
			}
		}
		return false
	})
	return things
}

func newObject(apiVersion, kind, name string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetAPIVersion(apiVersion)
	object.SetKind(kind)
	object.SetName(name)
	return object
}

func create(t *testing.T, client dynamic.ResourceInterface, object *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	made, err := client.Create(t.Context(), object, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("create %s %s: %v", object.GetKind(), object.GetName(), err)
	}
	return made
}

func waitDeleted(t *testing.T, client dynamic.ResourceInterface, object *unstructured.Unstructured) {
	t.Helper()
	waitFor(t, client, object, func(event watch.Event) bool { return event.Type == watch.Deleted })
	if _, err := client.Get(t.Context(), object.GetName(), metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("%s %s is still there (%v)", object.GetKind(), object.GetName(), err)
	}
}

// waitFor watches an object, from the version given, until an event satisfies.
func waitFor(t *testing.T, client dynamic.ResourceInterface, object *unstructured.Unstructured, done func(watch.Event) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	events, err := client.Watch(ctx, metav1.ListOptions{
		FieldSelector:   fields.OneTermEqualSelector("metadata.name", object.GetName()).String(),
		ResourceVersion: object.GetResourceVersion(),
	})
	if err != nil {
		t.Fatalf("watch %s: %v", object.GetName(), err)
	}
	defer events.Stop()
	for event := range events.ResultChan() {
		if done(event) {
			return
		}
	}
	t.Fatalf("nothing that was waited for happened to %s %s in %s", object.GetKind(), object.GetName(), waitLimit)
}
