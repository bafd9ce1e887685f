package reconcile

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/authorization"
	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/feedback"
	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/engine/monitor"
	"kanon.dev/kanon/engine/plan"
	"kanon.dev/kanon/engine/readers"
	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/wire"
)

// reader answers from the informers' caches what the evaluation reads besides the parent: lookups, and children as they
// were before. It subscribes the parent to changes of what was read. It implements program.Reader.
type reader struct {
	*subject

	monitors *monitor.Monitors
	readers  *readers.Index
	marks    *mark.Marks
	// readUnmarked reads a child that the informer hides, because its mark proves nothing. If nil, such a child counts
	// as absent.
	readUnmarked unmarkedReader
	// outdatedByContent answers Outdated for an object whose mark does not. If nil, the object counts as outdated.
	outdatedByContent func(node string, rendered, live *unstructured.Unstructured) bool

	// mayRead checks what the rule may read.
	mayRead readGate
	// reads are the subjects that were read.
	reads map[readers.Subject]bool
	// inputs are the versions of what was read; nil if the rule's status does not depend on itself.
	inputs *feedback.Inputs
	// denied are the lookups that the rule may not do. Not every node that waits for one says so.
	denied []conditions.Problem
	// revealed has the results of readUnmarked.
	revealed map[identity.ID]*unstructured.Unstructured
	// seen has the UIDs of the children that the informers showed. Those of two versions of a kind do not agree at any time.
	seen map[shownChild]types.UID
	// unseen is true if a child exists that the evaluation did not see. Nothing that follows from its absence may be
	// deleted. When the child gets its mark, its event enqueues the parent.
	unseen bool
	// incomplete is true if something could not be read yet, so that the evaluation says nothing about the parent: an
	// informer is still syncing, or memory was short.
	incomplete bool
}

// shownChild is a child as the informer of one resource shows it.
type shownChild struct {
	gvr schema.GroupVersionResource
	id  identity.ID
}

// Lookup implements program.Reader.
func (r *reader) Lookup(q program.Query) ([]*unstructured.Unstructured, error) {
	l, ok := r.op.Lookups[q.Lookup]
	if !ok {
		return nil, &plan.MissingKindError{GVK: q.GVK} // not for a query of this rule's program
	}
	found, s, err := r.find(l, q)
	if _, denied := errors.AsType[*authorization.DeniedError](err); denied {
		r.denied = append(r.denied, conditions.OfWrite("lookups."+q.Lookup, err))
	}
	r.inputs.Lookup(s, found, err, r.parent.GetUID())
	return found, err
}

// find reads the objects of a query, and subscribes the parent to their changes.
func (r *reader) find(l plan.Lookup, q program.Query) ([]*unstructured.Unstructured, readers.Subject, error) {
	// The subject outlives the object from which an expression may have taken these names.
	s := readers.Subject{Informer: l.Informer, Namespace: strings.Clone(q.Namespace), Name: strings.Clone(q.Name), Borrowed: l.Borrowed}
	if l.Borrowed {
		if q.AllNamespaces {
			return nil, s, errAllSecrets
		}
		s.Informer.Namespace = s.Namespace
	}
	selector := labels.Everything() // what is left to match in memory
	if q.Selector != nil && !l.Selective {
		selector = q.Selector
	}
	if q.Name == "" {
		s.Selector, s.Members = selector.String(), l.Members
	}
	if err := r.permit(l.Kind.GVR, s.Namespace, s.Name); err != nil {
		return nil, s, err
	}
	r.follow(s, selector)
	found, err := r.read(s, selector)
	return found, s, err
}

// permit returns an error for what the rule may not read, and requeues the parent for when the answer may have changed.
func (r *reader) permit(gvr schema.GroupVersionResource, namespace, name string) error {
	err := r.mayRead(gvr, namespace, name)
	if err != nil {
		r.RequeueAfter(authorization.Lifetime)
	}
	return err
}

// follow subscribes the parent to changes of a subject. Call it before reading the subject, so that no change in
// between is lost.
func (r *reader) follow(s readers.Subject, selector labels.Selector) {
	if r.reads == nil {
		r.reads = make(map[readers.Subject]bool, len(r.op.Lookups))
	}
	r.reads[s] = true
	r.readers.Add(r.key, s, selector)
}

// read answers from the informer's cache.
func (r *reader) read(s readers.Subject, selector labels.Selector) ([]*unstructured.Unstructured, error) {
	view, err := r.view(s.Informer)
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

// view returns what an informer shows, or why it cannot be read yet. An informer that has not synced, or was stopped or
// replaced with the rule during the pass, makes the pass incomplete: what the cluster has is then unknown, as after a
// restart.
func (r *reader) view(informer monitor.Key) (*monitor.View, error) {
	if view := r.monitors.View(informer); view != nil {
		return view, nil
	}
	what := informer.GVR.GroupResource().String()
	if informer.Namespace != "" {
		what += " in namespace " + informer.Namespace
	}
	if err := r.monitors.Failure(informer); err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", what, err)
	}
	r.incomplete = true
	return nil, fmt.Errorf("%s are being read for the first time", what)
}

// Observed implements program.Reader.
func (r *reader) Observed(node string) ([]*unstructured.Unstructured, error) {
	kind, ok := r.op.Nodes[node]
	if absence, missing := r.op.Absences[node]; missing && !absence.Certain {
		return nil, errors.New(absence.Message) // there may be some
	}
	if !ok {
		return nil, nil
	}
	r.op.ReadsObserved.Store(true)
	view, err := r.view(r.op.ChildKey(kind.GVR))
	if err != nil {
		return nil, err
	}
	var children []*unstructured.Unstructured
	for _, tag := range r.op.TagsOf(r.key) {
		children = append(children, view.ByIndex(plan.IndexParent, tag)...)
	}
	children = slices.DeleteFunc(children, func(obj *unstructured.Unstructured) bool { return !r.madeBy(obj, node) })
	for _, child := range children {
		if err := r.permit(kind.GVR, child.GetNamespace(), child.GetName()); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(children, compareObjects)
	for _, child := range children {
		r.noteSeen(kind.GVR, child)
		r.inputs.Child(identity.Of(child), child)
	}
	return children, nil
}

// Live implements program.Reader.
func (r *reader) Live(rendered *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	kind, ok := r.op.Children[rendered.GroupVersionKind()]
	if !ok {
		return nil, nil
	}
	r.op.ReadsObserved.Store(true)
	if err := r.permit(kind.GVR, rendered.GetNamespace(), rendered.GetName()); err != nil {
		return nil, err
	}
	view, err := r.view(r.op.ChildKey(kind.GVR))
	if err != nil {
		return nil, err
	}
	live := r.childAsRead(kind.GVR, view.Known(rendered.GetNamespace(), rendered.GetName()))
	r.noteSeen(kind.GVR, live)
	if version, hidden := view.Hidden(rendered.GetNamespace(), rendered.GetName()); live == nil && hidden {
		if live, err = r.unmarkedChild(kind, rendered, version); err != nil {
			return nil, err
		}
		r.unseen = r.unseen || live != nil
	}
	r.inputs.Child(identity.Of(rendered), live)
	if live == nil || live.GetDeletionTimestamp() != nil || !r.isOurs(live) {
		return nil, nil
	}
	return live, nil
}

// noteSeen records that an informer showed a child; nil records nothing.
func (r *reader) noteSeen(gvr schema.GroupVersionResource, child *unstructured.Unstructured) {
	if child == nil {
		return
	}
	if r.seen == nil {
		r.seen = make(map[shownChild]types.UID)
	}
	r.seen[shownChild{gvr, identity.Of(child)}] = child.GetUID()
}

// errChildGone reports that a child that the evaluation read is gone since. What was rendered may follow from it, as a
// value that is generated once does, so the replacement has to be rendered anew.
var errChildGone = conditions.Transient("the child was deleted since the evaluation read it")

// checkSeen returns errChildGone if live is not the object that the evaluation read under the child's name.
func (r *reader) checkSeen(gvr schema.GroupVersionResource, id identity.ID, live *unstructured.Unstructured) error {
	if uid, ok := r.seen[shownChild{gvr, id}]; ok && (live == nil || live.GetUID() != uid) {
		return errChildGone
	}
	return nil
}

// Replaced implements program.Reader.
func (r *reader) Replaced(rendered *unstructured.Unstructured) *unstructured.Unstructured {
	return r.memory.Recreations[identity.Of(rendered)].Replaced
}

// childAsRead returns a child as the rule reads it: with its content if the plan watches the content of its resource,
// else its head.
func (s *subject) childAsRead(gvr schema.GroupVersionResource, known *wire.Object) *unstructured.Unstructured {
	if !s.op.Whole[gvr] {
		return known.Head()
	}
	if !known.IsWhole() {
		return nil
	}
	return known.Shared()
}

// madeBy reports whether an object is a child of the parent, created by that node.
func (r *reader) madeBy(obj *unstructured.Unstructured, node string) bool {
	owner, ok := r.marks.OwnerOf(obj)
	return ok && owner.Node == node && owner.RuleID == r.op.ID && owner.Parent.UID == r.parent.GetUID()
}

// Outdated implements program.Reader.
func (r *reader) Outdated(node string, rendered, live *unstructured.Unstructured) bool {
	outdated, known := fieldset.Outdated(rendered, live, r.policyOf(node, rendered))
	if !known {
		// It was created before the node had a rollout, so its mark says less. Without writes, no closer comparison is
		// needed.
		return r.outdatedByContent == nil || r.outdatedByContent(node, rendered, live)
	}
	return outdated
}

// compareObjects orders objects by namespace and name.
func compareObjects(a, b *unstructured.Unstructured) int {
	return cmp.Or(strings.Compare(a.GetNamespace(), b.GetNamespace()), strings.Compare(a.GetName(), b.GetName()))
}

// errAllSecrets answers a lookup that asks for the Secrets of all namespaces.
var errAllSecrets = errors.New(`the Secrets of all namespaces are never read together; name a namespace in place of "*"`)
