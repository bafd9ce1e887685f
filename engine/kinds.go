package engine

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/restmapping"
	"kanon.dev/kanon/rules"
)

// kinds gives the rule compiler what the mapper knows.
type kinds struct{ mapper *restmapping.Mapper }

// Lookup implements rules.Kinds.
func (k kinds) Lookup(gvk schema.GroupVersionKind) (rules.Kind, bool) {
	kind, ok := k.mapper.Lookup(gvk)
	verbs := kind.Verbs
	if kind.Definition.UID != "" {
		verbs = nil // it has all of them, but while its definition is being deleted
	}
	return rules.Kind{Namespaced: kind.Namespaced, HasStatus: kind.HasStatus, Verbs: verbs}, ok
}

// Known implements rules.KindLister.
func (k kinds) Known() []schema.GroupVersionKind {
	var known []schema.GroupVersionKind
	for _, kind := range k.mapper.Kinds() {
		known = append(known, kind.GVK)
	}
	return known
}

// Complete implements rules.KindLister: a kind that is not known exists nowhere, unless
// discovery of its group fails.
func (k kinds) Complete(kind schema.GroupKind) bool {
	return !errors.Is(k.mapper.Missing(kind.WithVersion("")), restmapping.ErrUnavailable)
}

// Place implements rules.KindLister.
func (kinds) Place(string) string { return "the cluster" }

// missingKindError says that the cluster has no such kind.
type missingKindError struct{ gvk schema.GroupVersionKind }

func (e *missingKindError) Error() string {
	return fmt.Sprintf("the cluster has no kind %s in %s", e.gvk.Kind, e.gvk.GroupVersion())
}
