package supportbundle

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/pager"

	"kanon.dev/kanon/engine/keyring"
)

// helmRelease is the type of Secrets that hold what helm installed, compressed, a megabyte each.
const helmRelease = "helm.sh/release.v1"

// noteSecrets takes in the values of all Secrets, of the whole cluster or of as much as may be read. It keeps no Secret.
func (c *collector) noteSecrets(ctx context.Context) {
	secrets := c.Client.Resource(corev1.SchemeGroupVersion.WithResource("secrets"))
	list := func(namespace string) error {
		pages := pager.New(func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return secrets.Namespace(namespace).List(ctx, o)
		})
		return pages.EachListItem(ctx, metav1.ListOptions{}, func(object runtime.Object) error {
			if secret, ok := object.(*unstructured.Unstructured); ok {
				c.note(secret)
			}
			return nil
		})
	}
	err := list(metav1.NamespaceAll)
	c.lacks("values of Secrets, to hide them", err)
	if c.checked = err == nil; !c.checked {
		_ = list(c.Namespace) // better than none; what is missing was said
	}
}

// note takes in the values of a Secret, but for those that say nothing: hidden, the name of a namespace would be nowhere to be read.
func (c *collector) note(secret *unstructured.Unstructured) {
	data, _, _ := unstructured.NestedMap(secret.Object, "data")
	switch kind, _, _ := unstructured.NestedString(secret.Object, "type"); {
	case kind == helmRelease:
		return
	case kind == string(corev1.SecretTypeServiceAccountToken):
		data = map[string]any{corev1.ServiceAccountTokenKey: data[corev1.ServiceAccountTokenKey]}
	case secret.GetName() == keyring.SecretName:
		data = keyring.Secrets(data)
	}
	c.values.Note(&unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Secret", "data": data}})
}
