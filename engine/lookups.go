package engine

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"

	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/engine/monitor"
	"kanon.dev/kanon/engine/readers"
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

// Lookup implements rules.Reader.
func (p *pass) Lookup(q rules.Query) ([]*unstructured.Unstructured, error) {
	l, ok := p.op.lookups[q.Lookup]
	if !ok {
		return nil, &missingKindError{gvk: q.GVK} // not for a query of this rule's program
	}
	found, s, err := p.look(l, q)
	p.inputs.Lookup(s, found, err, p.parent.GetUID())
	return found, err
}

// look reads what a query asks for, and has what changes in it wake the parent.
func (p *pass) look(l lookup, q rules.Query) ([]*unstructured.Unstructured, readers.Subject, error) {
	// The subject outlives the object from which an expression may have taken these names.
	s := readers.Subject{Informer: l.key, Namespace: strings.Clone(q.Namespace), Name: strings.Clone(q.Name)}
	if l.borrowed {
		if q.AllNamespaces {
			return nil, s, errAllSecrets
		}
		s.Informer.Namespace = s.Namespace
		p.borrow(s.Informer)
	}
	selector := labels.Everything() // what is left to be matched in memory
	if q.Selector != nil && !l.selective {
		selector = q.Selector
	}
	if q.Name == "" {
		s.Selector, s.Members = selector.String(), l.members
	}
	p.follow(s, selector)
	found, err := p.read(s, selector)
	return found, s, err
}

// borrow has an informer run as long as the parent reads through it.
func (p *pass) borrow(informer monitor.Key) {
	if p.borrows == nil {
		p.borrows = make(map[monitor.Key]bool, 1)
	}
	p.borrows[informer] = true
	p.borrowed.Use(p.key, informer)
}

// follow has what changes in a subject enqueue the parent. It comes before the subject is read: a
// change in between counts.
func (p *pass) follow(s readers.Subject, selector labels.Selector) {
	if p.reads == nil {
		p.reads = make(map[readers.Subject]bool, len(p.op.lookups))
	}
	p.reads[s] = true
	p.readers.Add(p.key, s, selector)
}

// read answers from memory.
func (p *pass) read(s readers.Subject, selector labels.Selector) ([]*unstructured.Unstructured, error) {
	view, err := p.view(s.Informer)
	if err != nil {
		return nil, err
	}
	if s.Name != "" {
		object, ok := view.Get(s.Namespace, s.Name)
		if !ok {
			return nil, nil
		}
		return []*unstructured.Unstructured{object}, nil
	}
	var objects []*unstructured.Unstructured
	if s.Namespace == "" || s.Namespace == s.Informer.Namespace {
		objects = view.List()
	} else {
		objects = view.ByIndex(cache.NamespaceIndex, s.Namespace)
	}
	if selector.Empty() {
		return objects, nil
	}
	return slices.DeleteFunc(objects, func(obj *unstructured.Unstructured) bool {
		return !selector.Matches(labels.Set(obj.GetLabels()))
	}), nil
}

// view is what an informer shows, or why it cannot be read yet. One that is merely
// on its way, also because the rule was stopped or replaced while the pass goes on,
// makes the pass one that says nothing of the parent: what is in the cluster is not
// known then, as after a restart.
func (p *pass) view(informer monitor.Key) (*monitor.View, error) {
	if view := p.monitors.View(informer); view != nil {
		return view, nil
	}
	what := informer.GVR.GroupResource().String()
	if informer.Namespace != "" {
		what += " in namespace " + informer.Namespace
	}
	if err := p.monitors.Failure(informer); err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", what, err)
	}
	p.filling = true
	return nil, fmt.Errorf("%s are being read for the first time", what)
}

// Observed implements rules.Reader.
func (p *pass) Observed(node string) ([]*unstructured.Unstructured, error) {
	kind, ok := p.op.nodes[node]
	if absence, missing := p.op.waiting[node]; missing && !absence.Certain {
		return nil, errors.New(absence.Message) // there may be some
	}
	if !ok {
		return nil, nil
	}
	p.op.looksBack.Store(true)
	view, err := p.view(p.op.childKey(kind.GVR))
	if err != nil {
		return nil, err
	}
	var children []*unstructured.Unstructured
	for _, tag := range p.op.tagsOf(p.key) {
		children = append(children, view.ByIndex(indexParent, tag)...)
	}
	children = slices.DeleteFunc(children, func(obj *unstructured.Unstructured) bool { return !p.madeBy(obj, node) })
	slices.SortFunc(children, compareObjects)
	for _, child := range children {
		p.inputs.Child(identity.Of(child), child)
	}
	return children, nil
}

// Live implements rules.Reader.
func (p *pass) Live(rendered *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	kind, ok := p.op.children[rendered.GroupVersionKind()]
	if !ok {
		return nil, nil
	}
	p.op.looksBack.Store(true)
	view, err := p.view(p.op.childKey(kind.GVR))
	if err != nil {
		return nil, err
	}
	live := p.childIn(view, kind.GVR, rendered)
	if version, hidden := view.Hidden(rendered.GetNamespace(), rendered.GetName()); live == nil && hidden {
		if live, err = p.unproven(kind, rendered, version); err != nil {
			return nil, err
		}
		p.unseen = p.unseen || live != nil
	}
	p.inputs.Child(identity.Of(rendered), live)
	if live == nil || live.GetDeletionTimestamp() != nil || !p.isOurs(live) {
		return nil, nil
	}
	return live, nil
}

// childIn is an object of a child's name; its head where that is all there is for sure.
func (p *pass) childIn(view *monitor.View, gvr schema.GroupVersionResource, child *unstructured.Unstructured) *unstructured.Unstructured {
	if !p.op.whole[gvr] {
		return view.Known(child.GetNamespace(), child.GetName()).Head()
	}
	live, _ := view.Get(child.GetNamespace(), child.GetName())
	return live
}

// madeBy tells whether an object is a child of the parent, and of that node.
func (p *pass) madeBy(obj *unstructured.Unstructured, node string) bool {
	owner, ok := p.marks.OwnerOf(obj)
	return ok && owner.Node == node && owner.RuleID == p.op.id && owner.Parent.UID == p.parent.GetUID()
}

// compareObjects orders objects by namespace and name.
func compareObjects(a, b *unstructured.Unstructured) int {
	return cmp.Or(strings.Compare(a.GetNamespace(), b.GetNamespace()), strings.Compare(a.GetName(), b.GetName()))
}

// failed wakes what reads through an informer that cannot fill, so that it says
// so.
func (e *Engine) failed(informer monitor.Key) {
	for _, k := range e.borrowed.UsersOf(informer) {
		e.queue.Add(k)
	}
}
