package operator

import (
	"cmp"

	"kanon.dev/kanon/engine/watch"
	"kanon.dev/kanon/restmapping"
	"kanon.dev/kanon/rules/program"
)

// Lookup is one node of spec.lookups, and where its objects are read.
type Lookup struct {
	Kind restmapping.Kind
	// Informer has the namespace and the selector of the lookup, as far as they need no expression.
	Informer watch.Key
	// Borrowed is true if the namespace of the informer must still be filled in. For Secrets it is never left open, so
	// that no lookup loads the Secrets of all namespaces.
	Borrowed bool
	// Selective is true if the informer shows only objects that the selector selects.
	Selective bool
	// Members is true if only the names of the selected objects matter.
	Members bool
}

// newLookup plans a lookup. home is the namespace to which the rule is confined, if any: nothing else is watched for
// it.
func newLookup(spec *program.Lookup, kind restmapping.Kind, home string) Lookup {
	l := Lookup{Kind: kind, Informer: watch.Key{GVR: kind.GVR}}
	if kind.Namespaced {
		l.Informer.Namespace = cmp.Or(spec.Namespace, home)
	}
	if spec.Selector != nil {
		l.Informer.Selector, l.Selective = spec.Selector.String(), true
	}
	secret := kind.GVK.Group == "" && kind.GVK.Kind == "Secret"
	l.Borrowed = secret && l.Informer.Namespace == ""
	return l
}
