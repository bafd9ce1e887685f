package controlplanetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
)

// probe is a field that Define adds beside spec and status. Its only allowed value differs in each definition. So the
// API server's error for a wrong value reveals which definition it uses.
const probe = "definitionProbe"

// Client returns a client of the shared control plane without a rate limit.
func Client(tb testing.TB) dynamic.Interface {
	tb.Helper()
	config := Config(tb)
	config.QPS = -1
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		tb.Fatalf("make client: %v", err)
	}
	return client
}

// Define creates or updates a CustomResourceDefinition, and returns once the API server uses it in every served
// version. The error is the API server's if it refuses the definition. namespace is for dry runs that create nothing.
func Define(tb testing.TB, client dynamic.Interface, namespace string, definition *unstructured.Unstructured) error {
	tb.Helper()
	definitions := client.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	wanted := definition.DeepCopy()
	versions, _, _ := unstructured.NestedSlice(wanted.Object, "spec", "versions")
	live, err := definitions.Get(tb.Context(), wanted.GetName(), metav1.GetOptions{})
	isNew := apierrors.IsNotFound(err)
	if err != nil && !isNew {
		return err
	}
	mark := "first"
	if !isNew {
		mark = "after-" + live.GetResourceVersion()
		wanted.SetResourceVersion(live.GetResourceVersion())
	}
	for i := range versions {
		version, _ := versions[i].(map[string]any)
		value := map[string]any{"type": "string", "enum": []any{mark}}
		if err := unstructured.SetNestedMap(version, value, "schema", "openAPIV3Schema", "properties", probe); err != nil {
			return err
		}
	}
	if err := unstructured.SetNestedSlice(wanted.Object, versions, "spec", "versions"); err != nil {
		return err
	}
	if isNew {
		_, err = definitions.Create(tb.Context(), wanted, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
		tb.Cleanup(func() {
			if err := definitions.Delete(context.Background(), wanted.GetName(), metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
				tb.Errorf("delete definition: %v", err)
			}
		})
	} else {
		_, err = definitions.Update(tb.Context(), wanted, metav1.UpdateOptions{FieldValidation: metav1.FieldValidationStrict})
	}
	if err != nil {
		return err
	}
	for i := range versions {
		if version, _ := versions[i].(map[string]any); version["served"] == true {
			name, _ := version["name"].(string)
			if err := awaitProbe(tb, client, namespace, wanted, name, mark); err != nil {
				return err
			}
		}
	}
	return nil
}

// awaitProbe waits until the API server uses the definition with a mark in a version.
func awaitProbe(tb testing.TB, client dynamic.Interface, namespace string, definition *unstructured.Unstructured, version, mark string) error {
	tb.Helper()
	text := func(fields ...string) string {
		value, _, _ := unstructured.NestedString(definition.Object, append([]string{"spec"}, fields...)...)
		return value
	}
	gvr := schema.GroupVersionResource{Group: text("group"), Version: version, Resource: text("names", "plural")}
	object := &unstructured.Unstructured{Object: map[string]any{probe: "none of these"}}
	object.SetAPIVersion(gvr.GroupVersion().String())
	object.SetKind(text("names", "kind"))
	object.SetName("probe")
	var of dynamic.ResourceInterface = client.Resource(gvr)
	if text("scope") == "Namespaced" {
		of = client.Resource(gvr).Namespace(namespace)
	}
	var last error
	err := wait.PollUntilContextTimeout(tb.Context(), 20*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		_, last = of.Create(ctx, object, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return last != nil && strings.Contains(last.Error(), `"`+mark+`"`), nil
	})
	if err != nil {
		return errors.Join(fmt.Errorf("the API server does not serve %s: %w", gvr, err), last)
	}
	return nil
}
