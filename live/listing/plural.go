package listing

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Plural is a kind as people speak of several objects: Deployments, NetworkPolicies.
func Plural(gvk schema.GroupVersionKind) string {
	plural, _ := meta.UnsafeGuessKindToResource(gvk) // only its ending counts, which needs no cluster
	if ending, ok := strings.CutPrefix(plural.Resource, strings.ToLower(gvk.Kind)); ok {
		return gvk.Kind + ending
	}
	return strings.TrimSuffix(gvk.Kind, "y") + "ies"
}
