package engine

import (
	"k8s.io/apimachinery/pkg/labels"

	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/monitor"
	"kanon.dev/kanon/engine/readers"
)

// allNamespaces is the informer of Namespaces, the same for all who ask for their labels or
// whether they exist.
var allNamespaces = monitor.Key{GVR: namespacesGVR, Metadata: true} //nolint:gochecknoglobals // a constant in all but syntax

// namespaceLabels has the labels of a namespace; false where they are not known, as when no rule asks for any.
func (e *Engine) namespaceLabels(name string) (labels.Set, bool) {
	namespace, ok := e.monitors.Head(allNamespaces, "", name)
	if !ok {
		return nil, false
	}
	return namespace.GetLabels(), true
}

// awaitNamespace has the parent reconciled when the namespace of a child comes into being that
// does not exist, or is being deleted. Namespaces are watched as long as a parent waits for one,
// and not before. Where Kanon may not watch them, the child is tried again with growing pauses. The parent's own
// namespace is not waited for: the parent goes with it.
func (p *pass) awaitNamespace(w *write, of conditions.Problem) conditions.Problem {
	name := w.object.GetNamespace()
	p.homeGoes = p.homeGoes || name == p.key.Parent.Namespace && conditions.IsTerminatingNamespace(w.err)
	if name == p.key.Parent.Namespace || of.Reason != conditions.ReasonNamespaceMissing && !conditions.IsTerminatingNamespace(w.err) {
		return of
	}
	p.reader.borrow(allNamespaces)
	p.reader.follow(readers.Subject{Informer: allNamespaces, Name: name}, labels.Everything())
	// The event of the namespace that is made meanwhile may have come before anybody asked for it.
	live, exists := p.monitors.Head(allNamespaces, "", name)
	of.Elsewhere = p.monitors.HasSynced(allNamespaces) && (!exists || live.GetDeletionTimestamp() != nil)
	return of
}
