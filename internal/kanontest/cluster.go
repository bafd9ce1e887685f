package kanontest

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
)

const (
	// manager is the field manager of the tests' writes.
	manager = "somebody"
	// findTries is how often a kind is looked up, with pauses of retryPause.
	findTries = int(patience / retryPause)
)

// Cluster is a cluster for one test, which reads and writes objects of any kind. Its methods fail the test on an error.
type Cluster struct {
	testing.TB // the test

	client dynamic.Interface
	kinds  meta.ResettableRESTMapper
	// namespace is that of objects without a namespace.
	namespace string
	patience  time.Duration // how long a wait for a state may take
}

// NewCluster makes a Cluster with the namespace default.
func NewCluster(tb testing.TB, config *rest.Config) *Cluster {
	tb.Helper()
	client, err1 := dynamic.NewForConfig(config)
	kinds, err2 := discovery.NewDiscoveryClientForConfig(config)
	if err := errors.Join(err1, err2); err != nil {
		tb.Fatalf("make client: %v", err)
	}
	return &Cluster{
		TB: tb, client: client, namespace: metav1.NamespaceDefault, patience: patience,
		kinds: restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(kinds)),
	}
}

// In is the same cluster for another test, with another namespace for objects without one.
func (c *Cluster) In(tb testing.TB, namespace string) *Cluster {
	tb.Helper()
	return &Cluster{TB: tb, client: c.client, kinds: c.kinds, namespace: namespace, patience: c.patience}
}

// Within is the same cluster, with another limit for each wait.
func (c *Cluster) Within(bound time.Duration) *Cluster {
	within := *c
	within.patience = bound
	return &within
}

// Namespace is that of objects without a namespace.
func (c *Cluster) Namespace() string { return c.namespace }

// For is the same cluster for another test.
func (c *Cluster) For(tb testing.TB) *Cluster {
	tb.Helper()
	return c.In(tb, c.namespace)
}

// Ref makes a reference to an object, for the methods that take one.
func Ref(apiVersion, kind, name string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{}
	obj.SetAPIVersion(apiVersion)
	obj.SetKind(kind)
	obj.SetName(name)
	return obj
}

// at returns the client for a kind in a namespace, which may be empty.
func (c *Cluster) at(gvk schema.GroupVersionKind, namespace string) dynamic.ResourceInterface {
	c.Helper()
	mapping := c.find(gvk)
	if mapping.Scope.Name() == meta.RESTScopeNameRoot {
		return c.client.Resource(mapping.Resource)
	}
	return c.client.Resource(mapping.Resource).Namespace(cmp.Or(namespace, c.namespace))
}

// find finds a kind. A kind that was just installed is served in a moment, which no event reports.
func (c *Cluster) find(gvk schema.GroupVersionKind) *meta.RESTMapping {
	c.Helper()
	for tries := 0; ; tries++ {
		mapping, err := c.kinds.RESTMapping(gvk.GroupKind(), gvk.Version)
		if err == nil {
			return mapping
		}
		if tries == findTries || !meta.IsNoMatchError(err) {
			c.Fatalf("find the kind %s: %v", gvk, err)
		}
		<-time.After(retryPause)
		c.kinds.Reset()
	}
}

func (c *Cluster) of(ref *unstructured.Unstructured) dynamic.ResourceInterface {
	c.Helper()
	return c.at(ref.GroupVersionKind(), ref.GetNamespace())
}

// Apply applies objects one after the other. After a CustomResourceDefinition, it waits until the kind is established.
func (c *Cluster) Apply(objects ...*unstructured.Unstructured) {
	c.Helper()
	for _, obj := range objects {
		_, err := c.of(obj).Apply(c.Context(), obj.GetName(), obj, metav1.ApplyOptions{FieldManager: manager, Force: true})
		if err != nil {
			c.Fatalf("apply %s: %v", describe(obj), err)
		}
		if obj.GetKind() == "CustomResourceDefinition" {
			c.Await(obj, func(live *unstructured.Unstructured) error {
				if ConditionStatus(live, "Established") != "True" {
					return errors.New("it is not established")
				}
				return nil
			})
		}
	}
}

// Get returns the live object that ref names. The test fails if it cannot be read.
func (c *Cluster) Get(ref *unstructured.Unstructured) *unstructured.Unstructured {
	c.Helper()
	live, err := c.of(ref).Get(c.Context(), ref.GetName(), metav1.GetOptions{})
	if err != nil {
		c.Fatalf("get %s: %v", describe(ref), err)
	}
	return live
}

// Patch merges a change, as JSON, into an object.
func (c *Cluster) Patch(ref *unstructured.Unstructured, change string) {
	c.Helper()
	c.patch(ref, change)
}

// PatchStatus merges a change, as JSON, into the status of an object, as its controller does.
func (c *Cluster) PatchStatus(ref *unstructured.Unstructured, change string) {
	c.Helper()
	c.patch(ref, change, "status")
}

func (c *Cluster) patch(ref *unstructured.Unstructured, change string, subresources ...string) {
	c.Helper()
	_, err := c.of(ref).Patch(c.Context(), ref.GetName(), types.MergePatchType, []byte(change), metav1.PatchOptions{FieldManager: manager}, subresources...)
	if err != nil {
		c.Fatalf("patch %s with %s: %v", describe(ref), change, err)
	}
}

// Delete deletes an object, as kubectl does, and does not wait for its end.
func (c *Cluster) Delete(ref *unstructured.Unstructured) {
	c.Helper()
	background := metav1.DeletePropagationBackground // Jobs would otherwise orphan their Pods
	err := c.of(ref).Delete(c.Context(), ref.GetName(), metav1.DeleteOptions{PropagationPolicy: &background})
	if err != nil {
		c.Fatalf("delete %s: %v", describe(ref), err)
	}
}

// IsNamespaced reports whether objects of a kind are in namespaces.
func (c *Cluster) IsNamespaced(ref *unstructured.Unstructured) bool {
	c.Helper()
	return c.find(ref.GroupVersionKind()).Scope.Name() == meta.RESTScopeNameNamespace
}

// List lists the objects of a kind in a namespace.
func (c *Cluster) List(apiVersion, kind, namespace string) []unstructured.Unstructured {
	c.Helper()
	list, err := c.at(schema.FromAPIVersionAndKind(apiVersion, kind), namespace).List(c.Context(), metav1.ListOptions{})
	if err != nil {
		c.Fatalf("list %s: %v", kind, err)
	}
	return list.Items
}

// IsThere reports whether an object exists.
func (c *Cluster) IsThere(ref *unstructured.Unstructured) bool {
	c.Helper()
	_, err := c.of(ref).Get(c.Context(), ref.GetName(), metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		c.Fatalf("get %s: %v", describe(ref), err)
	}
	return err == nil
}

// ApplyRules applies a ConfigMap with rules in the key rule.yaml.
func (c *Cluster) ApplyRules(namespace, name, text string) {
	c.Helper()
	configMap := Ref("v1", "ConfigMap", name)
	configMap.SetNamespace(namespace)
	configMap.SetLabels(map[string]string{"kanon.dev/rules": "true"})
	configMap.Object["data"] = map[string]any{"rule.yaml": text}
	c.Apply(configMap)
}

// AwaitVerdict waits until Kanon reports for a ConfigMap with rules whether all of them run as written, with a message
// that contains text.
func (c *Cluster) AwaitVerdict(namespace, name string, ready bool, text string) {
	c.Helper()
	ref := Ref("v1", "ConfigMap", name)
	ref.SetNamespace(namespace)
	c.Await(ref, func(live *unstructured.Unstructured) error {
		annotation := live.GetAnnotations()["kanon.dev/status"]
		var verdict struct{ Ready bool }
		if err := json.Unmarshal([]byte(annotation), &verdict); err != nil {
			return fmt.Errorf("it has no verdict: %w", err)
		}
		if verdict.Ready != ready || !strings.Contains(annotation, text) {
			return fmt.Errorf("the verdict is %s", annotation)
		}
		return nil
	})
}

// ConditionStatus is the status of a condition; empty if there is none.
func ConditionStatus(obj *unstructured.Unstructured, conditionType string) string {
	conditions, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
	for _, item := range conditions {
		if condition, ok := item.(map[string]any); ok && condition["type"] == conditionType {
			status, _ := condition["status"].(string)
			return status
		}
	}
	return ""
}

// describe names an object in a message.
func describe(obj *unstructured.Unstructured) string {
	if namespace := obj.GetNamespace(); namespace != "" {
		return fmt.Sprintf("%s %s/%s", obj.GetKind(), namespace, obj.GetName())
	}
	return fmt.Sprintf("%s %s", obj.GetKind(), obj.GetName())
}
