package catalog

import (
	"errors"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/restmapping"
	"kanon.dev/kanon/rules"
)

// Kinds answers from memory which kinds the cluster has. *restmapping.Mapper implements it.
type Kinds interface {
	Lookup(gvk schema.GroupVersionKind) (restmapping.Kind, bool)
	Kinds() []restmapping.Kind
	// Missing returns why Lookup does not find a kind.
	Missing(gvk schema.GroupVersionKind) error
}

// CompilerKinds adapts Kinds to what the compiler of rules needs.
func CompilerKinds(kinds Kinds) rules.Kinds { return compilerKinds{kinds} }

type compilerKinds struct{ of Kinds }

// Lookup implements rules.Kinds.
func (k compilerKinds) Lookup(gvk schema.GroupVersionKind) (rules.Kind, bool) {
	kind, ok := k.of.Lookup(gvk)
	verbs := kind.Verbs
	if kind.Definition.UID != "" {
		verbs = nil // custom kinds have all verbs, except while their definition is being deleted
	}
	return rules.Kind{Namespaced: kind.Namespaced, HasStatus: kind.HasStatus, Verbs: verbs}, ok
}

// Known implements rules.KindLister.
func (k compilerKinds) Known() []schema.GroupVersionKind {
	var known []schema.GroupVersionKind
	for _, kind := range k.of.Kinds() {
		known = append(known, kind.GVK)
	}
	return known
}

// Complete implements rules.KindLister: an unknown kind does not exist, unless discovery of its group fails.
func (k compilerKinds) Complete(kind schema.GroupKind) bool {
	return !errors.Is(k.of.Missing(kind.WithVersion("")), restmapping.ErrUnavailable)
}

// Place implements rules.KindLister.
func (compilerKinds) Place(string) string { return "the cluster" }
