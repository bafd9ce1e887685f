package operator

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/engine/watch"
)

// Selection says whether a rule selects a parent.
type Selection int

const (
	// Unselected means that the rule does not select it.
	Unselected Selection = iota
	// Selected means that the rule selects it.
	Selected
	// Undecided means that the labels of the parent's Namespace are not known.
	Undecided
)

// Selects reports whether the rule selects a parent, by everything that needs no evaluation: labels, namespace, and the
// Namespace's labels.
func (p *Plan) Selects(parent *unstructured.Unstructured, namespaceLabels func(name string) (labels.Set, bool)) Selection {
	if !p.InView(parent) {
		return Unselected
	}
	return p.SelectsNamespace(parent.GetNamespace(), namespaceLabels)
}

// SelectsNamespace is Selects for a parent that the informer shows and of which only the namespace is known.
func (p *Plan) SelectsNamespace(namespace string, namespaceLabels func(name string) (labels.Set, bool)) Selection {
	if len(p.namespaces) > 0 && !p.namespaces[namespace] {
		return Unselected
	}
	selector := p.Program.Parent.NamespaceSelector
	if selector == nil {
		return Selected
	}
	set, known := namespaceLabels(namespace)
	switch {
	case !known:
		return Undecided
	case selector.Matches(set):
		return Selected
	default:
		return Unselected
	}
}

// InView reports whether the informer of the parents should show this one.
func (p *Plan) InView(parent *unstructured.Unstructured) bool {
	selector := p.Program.Parent.Selector
	return (selector == nil || selector.Matches(labels.Set(parent.GetLabels()))) &&
		(p.ParentKey.Namespace == "" || p.ParentKey.Namespace == parent.GetNamespace())
}

// IsNarrow reports whether parents may exist that the informer does not show.
func (p *Plan) IsNarrow() bool {
	return p.ParentKey.Selector != "" || p.ParentKey.Namespace != ""
}

// NamespaceLabels returns a function that returns the labels of a namespace, and false if they are not known, such as
// when no rule needs any.
func NamespaceLabels(monitors *watch.Monitors) func(name string) (labels.Set, bool) {
	return func(name string) (labels.Set, bool) {
		namespace, ok := monitors.Head(AllNamespaces, "", name)
		if !ok {
			return nil, false
		}
		return namespace.GetLabels(), true
	}
}

// NamespacesGVR is the resource of Namespaces.
var NamespacesGVR = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"} //nolint:gochecknoglobals // a constant in all but syntax

// AllNamespaces is the informer of Namespaces, shared by all that need their labels or whether they exist.
var AllNamespaces = watch.Key{GVR: NamespacesGVR, Metadata: true} //nolint:gochecknoglobals // a constant in all but syntax
