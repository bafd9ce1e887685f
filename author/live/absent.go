package live

import (
	"cmp"
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"

	"kanon.dev/kanon/rules/diagnostic"
)

// maxCompared is the number of names that a missing one is compared with.
const maxCompared = 1000

// Absent is the text for an object that does not exist. It names the namespace or the object that may have been meant.
// namespace is empty for cluster-scoped objects. advice is appended unless it is empty.
func Absent(ctx context.Context, client dynamic.Interface, resource dynamic.ResourceInterface, kind, namespace, name, advice string) string {
	text := fmt.Sprintf("%s %s does not exist", kind, name)
	if namespace != "" {
		if missing := NoNamespace(ctx, client, namespace); missing != "" {
			return text + ": " + missing
		}
		text += fmt.Sprintf(" in namespace %q", namespace)
	}
	if near := nearIn(ctx, resource, name); near != "" {
		text += fmt.Sprintf(" (did you mean %s?)", near)
	}
	if advice != "" {
		text += ": " + advice
	}
	return text
}

// NothingIn is where nothing was found, with what to do: another name of the namespace, or all of them. The namespace is
// empty for all.
func NothingIn(ctx context.Context, client dynamic.Interface, namespace string) string {
	if namespace == "" {
		return "any namespace"
	}
	return "namespace " + namespace + "; " + cmp.Or(NoNamespace(ctx, client, namespace), "-A asks for all namespaces")
}

// NoNamespace is the text for a namespace that does not exist, with the name that may have been meant. It is empty if
// the namespace exists, or if that is not known.
func NoNamespace(ctx context.Context, client dynamic.Interface, name string) string {
	namespaces := client.Resource(corev1.SchemeGroupVersion.WithResource("namespaces"))
	if _, err := namespaces.Get(ctx, name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		return ""
	}
	text := "there is no namespace " + name
	if near := nearIn(ctx, namespaces, name); near != "" {
		text += fmt.Sprintf(" (did you mean %s?)", near)
	}
	return text
}

// nearIn returns the existing name that is most like a missing one; empty if there is none, or if the objects cannot be
// listed.
func nearIn(ctx context.Context, resource dynamic.ResourceInterface, name string) string {
	list, err := resource.List(ctx, metav1.ListOptions{Limit: maxCompared})
	if err != nil {
		return ""
	}
	names := make([]string, len(list.Items))
	for i := range list.Items {
		names[i] = list.Items[i].GetName()
	}
	near, _ := diagnostic.Nearest(name, names)
	return near
}
