package clustersecrets

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/pager"

	"kanon.dev/kanon/engine/keyring"
	"kanon.dev/kanon/redact"
)

// helmRelease is the type of Secrets that hold what helm installed, compressed, a megabyte each. They are not even read.
const helmRelease = "helm.sh/release.v1"

// Values are those of all Secrets of a cluster, or of one namespace of it as far as who asks may list no others. The error says why
// some are missing.
func Values(ctx context.Context, client dynamic.Interface, namespace string) (redact.Values, error) {
	values, err := In(ctx, client, metav1.NamespaceAll)
	if err == nil {
		return values, nil
	}
	if namespace != metav1.NamespaceAll {
		if near, failed := In(ctx, client, namespace); failed == nil { // better than none; what is missing is said
			values = near
		}
	}
	return values, err
}

// In are the values of the Secrets in a namespace, or in all. With an error these are not all.
func In(ctx context.Context, client dynamic.Interface, namespace string) (redact.Values, error) {
	values := redact.Values{}
	secrets := client.Resource(corev1.SchemeGroupVersion.WithResource("secrets")).Namespace(namespace)
	pages := pager.New(func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return secrets.List(ctx, o) })
	err := pages.EachListItem(ctx, metav1.ListOptions{FieldSelector: "type!=" + helmRelease}, func(object runtime.Object) error {
		if secret, ok := object.(*unstructured.Unstructured); ok {
			Note(values, secret)
		}
		return nil
	})
	if err != nil {
		return values, fmt.Errorf("list Secrets: %w", err)
	}
	return values, nil
}

// Note takes in the values of a Secret, but for those that say nothing.
func Note(values redact.Values, secret *unstructured.Unstructured) {
	data, _, _ := unstructured.NestedMap(secret.Object, "data")
	switch kind, _, _ := unstructured.NestedString(secret.Object, "type"); {
	case kind == helmRelease:
		return
	case kind == string(corev1.SecretTypeServiceAccountToken):
		data = map[string]any{corev1.ServiceAccountTokenKey: data[corev1.ServiceAccountTokenKey]}
	case secret.GetName() == keyring.SecretName:
		data = keyring.Secrets(data)
	}
	values.Note(&unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Secret", "data": data}})
}
