package rules

import "k8s.io/apimachinery/pkg/runtime/schema"

// Kind tells what the compiler must know of a kind that a rule names.
type Kind struct {
	// Namespaced is true where objects of the kind live in a namespace.
	Namespaced bool
	// HasStatus is true where the kind has a /status subresource.
	HasStatus bool
}

// Kinds tells which kinds the cluster has.
type Kinds interface {
	// Lookup answers from memory; false means that the cluster lacks the kind.
	Lookup(gvk schema.GroupVersionKind) (Kind, bool)
}
