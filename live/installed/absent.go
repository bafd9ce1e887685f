package installed

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"

	"kanon.dev/kanon/rules/diagnostic"
)

// maxCompared is with how many names one is compared that does not exist.
const maxCompared = 1000

// Absent says that an object of a kind does not exist in a namespace, or without one, and what may have been meant: another namespace, or
// another object in it. advice is what to do otherwise; empty: nothing.
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

// NoNamespace says that a namespace does not exist, and which may have been meant; empty if it exists, or if that is not known.
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

// nearIn is the name of an object that is like one which does not exist; empty if there is none, or they may not be listed.
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
