package engine

import (
	"errors"

	"kanon.dev/kanon/engine/monitor"
	"kanon.dev/kanon/restmapping"
	"kanon.dev/kanon/rules"
)

// lookup is one node of spec.lookups and where its objects are read.
type lookup struct {
	kind restmapping.Kind
	// key is the informer, with what of namespace and selector the rule says
	// without an expression.
	key monitor.Key
	// borrowed is true where the namespace is still to be filled in: that of
	// Secrets is never left open, because they are not all of them kept in memory
	// for the sake of one.
	borrowed bool
	// selective is true where the informer has no objects but the selected ones.
	selective bool
	// members is true where only the names of those that are selected matter.
	members bool
}

// newLookup plans how a lookup is served.
func newLookup(spec rules.Lookup, kind restmapping.Kind) lookup {
	l := lookup{kind: kind, key: monitor.Key{GVR: kind.GVR}}
	if kind.Namespaced {
		l.key.Namespace = spec.Namespace
	}
	if spec.Selector != nil {
		l.key.Selector, l.selective = spec.Selector.String(), true
	}
	secret := kind.GVK.Group == "" && kind.GVK.Kind == "Secret"
	l.borrowed = secret && l.key.Namespace == ""
	return l
}

// errAllSecrets answers a lookup that asks for the Secrets of the whole cluster.
var errAllSecrets = errors.New(`the Secrets of all namespaces are never read together; name a namespace in place of "*"`)

// failed wakes what reads through an informer that cannot fill, so that it says
// so.
func (e *Engine) failed(informer monitor.Key) {
	for _, k := range e.borrowed.UsersOf(informer) {
		e.queue.Add(k)
	}
}
