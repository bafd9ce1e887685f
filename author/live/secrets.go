package live

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/pager"

	"kanon.dev/kanon/author/redact"
)

// helmRelease is the type of Secrets in which helm keeps releases, of up to a megabyte each. They are not read.
const helmRelease = "helm.sh/release.v1"

// SecretValues reads the values of all Secrets of a cluster, or of one namespace if the user may list no others. The
// error says why some are missing. Of tokens, only the token is a secret.
func SecretValues(ctx context.Context, client dynamic.Interface, namespace string) (redact.Values, error) {
	values, err := SecretsIn(ctx, client, metav1.NamespaceAll)
	if err == nil {
		return values, nil
	}
	if namespace != metav1.NamespaceAll {
		if near, failed := SecretsIn(ctx, client, namespace); failed == nil { // better than none; the error reports what is missing
			values = near
		}
	}
	return values, err
}

// SecretsIn reads the values of the Secrets in a namespace, or in all. With an error, some are missing.
func SecretsIn(ctx context.Context, client dynamic.Interface, namespace string) (redact.Values, error) {
	values := redact.Values{}
	secrets := client.Resource(corev1.SchemeGroupVersion.WithResource("secrets")).Namespace(namespace)
	pages := pager.New(func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return secrets.List(ctx, o) })
	err := pages.EachListItem(ctx, metav1.ListOptions{FieldSelector: "type!=" + helmRelease}, func(object runtime.Object) error {
		if secret, ok := object.(*unstructured.Unstructured); ok {
			noteSecret(values, secret)
		}
		return nil
	})
	if err != nil {
		return values, fmt.Errorf("list Secrets: %w", err)
	}
	return values, nil
}

// noteSecret adds the values of a Secret.
func noteSecret(values redact.Values, secret *unstructured.Unstructured) {
	data, _, _ := unstructured.NestedMap(secret.Object, "data")
	switch kind, _, _ := unstructured.NestedString(secret.Object, "type"); {
	case kind == helmRelease:
		return
	case kind == string(corev1.SecretTypeServiceAccountToken):
		data = map[string]any{corev1.ServiceAccountTokenKey: data[corev1.ServiceAccountTokenKey]}
	}
	values.Note(&unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Secret", "data": data}})
}
