package listing

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Plural is the plural of a kind for people: Deployments, NetworkPolicies.
func Plural(gvk schema.GroupVersionKind) string {
	plural, _ := meta.UnsafeGuessKindToResource(gvk) // the guess needs no cluster, and only the ending of its result is used
	if ending, ok := strings.CutPrefix(plural.Resource, strings.ToLower(gvk.Kind)); ok {
		return gvk.Kind + ending
	}
	return strings.TrimSuffix(gvk.Kind, "y") + "ies"
}
