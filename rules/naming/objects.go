package naming

import (
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
)

// IsPathSegment returns what is wrong with the name of an object of any kind. Most kinds have a stricter rule.
func IsPathSegment(name string) []string { return content.IsPathSegmentName(name) }

// OfKind returns what the API server asks of the names of a kind, as a function that returns what is wrong with a name. Most kinds, and
// all custom ones, have DNS subdomains: at most 253 lower case letters, digits, - and dots.
func OfKind(kind schema.GroupKind) func(name string) []string {
	switch {
	case kind == schema.GroupKind{Kind: "Service"}, kind == schema.GroupKind{Kind: "Namespace"}:
		return validation.IsDNS1123Label
	case kind.Group == "rbac.authorization.k8s.io":
		return IsPathSegment
	}
	return validation.IsDNS1123Subdomain
}
