package reconcile

import (
	"cmp"
	"context"
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
	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/engine/operator"
	"kanon.dev/kanon/engine/tenant"
	"kanon.dev/kanon/engine/watch"
	"kanon.dev/kanon/restmapping"
	"kanon.dev/kanon/rules/program"
)

// reader answers from the informers' caches what the evaluation reads besides the parent: lookups, and children as they
// were before. It subscribes the parent to changes of what was read. It implements program.Reader, whose methods get no
// context: newReader binds what needs one.
type reader struct {
	p *pass
	// mayRead checks what the rule may read.
	mayRead readGate
	// readUnmarked reads a child that the informer hides, because its mark proves nothing.
	readUnmarked func(kind restmapping.Kind, rendered *unstructured.Unstructured) (*unstructured.Unstructured, error)
	// isOutdated answers Outdated for an object whose mark does not.
	isOutdated func(node string, rendered, live *unstructured.Unstructured) bool

	// lookups are what Observed shows.
	lookups []Lookup
	// reads are the subjects that were read.
	reads map[watch.Subject]bool
	// denied are the lookups that the rule may not do. Not every node that waits for one says so.
	denied []conditions.Problem
	// revealed has the results of readUnmarked.
	revealed map[identity.ID]*unstructured.Unstructured
	// shown has the UIDs of the children that the informers showed. Those of two versions of a kind do not agree at any
	// time.
	shown map[shownChild]types.UID
	// unseen is true if a child exists that the evaluation did not see. Nothing that follows from its absence may be
	// deleted. When the child gets its mark, its event enqueues the parent.
	unseen bool
	// incomplete is true if something could not be read yet, so that the evaluation says nothing about the parent: an
	// informer is still syncing, or memory was short.
	incomplete bool
}

func newReader(ctx context.Context, p *pass) *reader {
	return &reader{
		p:       p,
		mayRead: p.r.readGate(ctx, p.op),
		readUnmarked: func(kind restmapping.Kind, rendered *unstructured.Unstructured) (*unstructured.Unstructured, error) {
			return p.readUnmarked(ctx, kind, rendered)
		},
		isOutdated: func(node string, rendered, live *unstructured.Unstructured) bool {
			return p.isOutdated(ctx, node, rendered, live)
		},
	}
}

// shownChild is a child as the informer of one resource shows it.
type shownChild struct {
	gvr schema.GroupVersionResource
	id  identity.ID
}

// Lookup implements program.Reader.
func (r *reader) Lookup(q program.Query) ([]*unstructured.Unstructured, error) {
	l, ok := r.p.op.Lookups[q.Lookup]
	if !ok {
		return nil, &operator.MissingKindError{GVK: q.GVK} // not for a query of this rule's program
	}
	found, err := r.find(l, q)
	if _, denied := errors.AsType[*tenant.DeniedError](err); denied {
		r.denied = append(r.denied, conditions.OfWrite("lookups."+q.Lookup, err))
	}
	if r.p.r.Observe != nil {
		r.lookups = append(r.lookups, Lookup{q, found, err})
	}
	return found, err
}

// find reads the objects of a query, and subscribes the parent to their changes.
func (r *reader) find(l operator.Lookup, q program.Query) ([]*unstructured.Unstructured, error) {
	// The subject outlives the object from which an expression may have taken these names.
	s := watch.Subject{Informer: l.Informer, Namespace: strings.Clone(q.Namespace), Name: strings.Clone(q.Name), Borrowed: l.Borrowed}
	if l.Borrowed {
		if q.AllNamespaces {
			return nil, errAllSecrets
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
		return nil, err
	}
	r.follow(s, selector)
	return r.read(s, selector)
}

// permit returns an error for what the rule may not read, and requeues the parent for when the answer may have changed.
func (r *reader) permit(gvr schema.GroupVersionResource, namespace, name string) error {
	err := r.mayRead(gvr, namespace, name)
	if err != nil {
		r.p.requeueAfter(tenant.Lifetime)
	}
	return err
}

// follow subscribes the parent to changes of a subject. Call it before reading the subject, so that no change in
// between is lost.
func (r *reader) follow(s watch.Subject, selector labels.Selector) {
	if r.reads == nil {
		r.reads = make(map[watch.Subject]bool, len(r.p.op.Lookups))
	}
	r.reads[s] = true
	r.p.r.Readers.Add(r.p.key, s, selector)
}

// read answers from the informer's cache.
func (r *reader) read(s watch.Subject, selector labels.Selector) ([]*unstructured.Unstructured, error) {
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
func (r *reader) view(informer watch.Key) (*watch.View, error) {
	if view := r.p.r.Monitors.View(informer); view != nil {
		return view, nil
	}
	what := informer.GVR.GroupResource().String()
	if informer.Namespace != "" {
		what += " in namespace " + informer.Namespace
	}
	if err := r.p.r.Monitors.Failure(informer); err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", what, err)
	}
	r.incomplete = true
	return nil, fmt.Errorf("%s are being read for the first time", what)
}

// Observed implements program.Reader.
func (r *reader) Observed(node string) ([]*unstructured.Unstructured, error) {
	kind, ok := r.p.op.Nodes[node]
	if absence, missing := r.p.op.Absences[node]; missing && !absence.Certain {
		return nil, errors.New(absence.Message) // there may be some
	}
	if !ok {
		return nil, nil
	}
	r.p.op.ReadsObserved.Store(true)
	view, err := r.view(r.p.op.ChildKey(kind.GVR))
	if err != nil {
		return nil, err
	}
	var children []*unstructured.Unstructured
	for _, tag := range r.p.op.TagsOf(r.p.key) {
		children = append(children, view.ByIndex(operator.IndexParent, tag)...)
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
	}
	return children, nil
}

// Live implements program.Reader.
func (r *reader) Live(rendered *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	kind, ok := r.p.op.Children[rendered.GroupVersionKind()]
	if !ok {
		return nil, nil
	}
	r.p.op.ReadsObserved.Store(true)
	if err := r.permit(kind.GVR, rendered.GetNamespace(), rendered.GetName()); err != nil {
		return nil, err
	}
	view, err := r.view(r.p.op.ChildKey(kind.GVR))
	if err != nil {
		return nil, err
	}
	live := r.p.childAsRead(kind.GVR, view.Known(rendered.GetNamespace(), rendered.GetName()))
	r.noteSeen(kind.GVR, live)
	if version, hidden := view.Hidden(rendered.GetNamespace(), rendered.GetName()); live == nil && hidden {
		if live, err = r.unmarkedChild(kind, rendered, version); err != nil {
			return nil, err
		}
		r.unseen = r.unseen || live != nil
	}
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
	if r.shown == nil {
		r.shown = make(map[shownChild]types.UID)
	}
	r.shown[shownChild{gvr, identity.Of(child)}] = child.GetUID()
}

// errChildGone reports that a child that the evaluation read is gone since. What was rendered may follow from it, as a
// value that is generated once does, so the replacement has to be rendered anew.
var errChildGone = conditions.Transient("the child was deleted since the evaluation read it")

// checkSeen returns errChildGone if live is not the object that the evaluation read under the child's name.
func (r *reader) checkSeen(gvr schema.GroupVersionResource, id identity.ID, live *unstructured.Unstructured) error {
	if uid, ok := r.shown[shownChild{gvr, id}]; ok && (live == nil || live.GetUID() != uid) {
		return errChildGone
	}
	return nil
}

// Replaced implements program.Reader.
func (r *reader) Replaced(rendered *unstructured.Unstructured) *unstructured.Unstructured {
	return r.p.memory.Recreations[identity.Of(rendered)].Replaced
}

// childAsRead returns a child as the rule reads it: with its content if the rule reads that of any child of its
// resource, else its head, which costs less.
func (p *pass) childAsRead(gvr schema.GroupVersionResource, known *watch.Object) *unstructured.Unstructured {
	if !p.op.Whole[gvr] {
		return known.Head()
	}
	return known.Shared()
}

// madeBy reports whether an object is a child of the parent, created by that node.
func (r *reader) madeBy(obj *unstructured.Unstructured, node string) bool {
	owner, ok := r.p.r.Marks.OwnerOf(obj)
	return ok && owner.Node == node && owner.RuleID == r.p.op.ID && owner.Parent.UID == r.p.parent.GetUID()
}

// Outdated implements program.Reader.
func (r *reader) Outdated(node string, rendered, live *unstructured.Unstructured) bool {
	outdated, known := fieldset.Outdated(rendered, live, r.p.policyOf(node, rendered))
	if !known {
		return r.isOutdated(node, rendered, live) // it was created before the node had a rollout, so its mark says less
	}
	return outdated
}

// compareObjects orders objects by namespace and name.
func compareObjects(a, b *unstructured.Unstructured) int {
	return cmp.Or(strings.Compare(a.GetNamespace(), b.GetNamespace()), strings.Compare(a.GetName(), b.GetName()))
}

// errAllSecrets answers a lookup that asks for the Secrets of all namespaces.
var errAllSecrets = errors.New(`the Secrets of all namespaces are never read together; name a namespace in place of "*"`)

// The view hides an object that has the label of children and whose mark proves nothing. It may be a child
// nevertheless: somebody changed its mark, or the key was lost. That does not matter if the child is written anyway:
// the write notices and marks it again. But if a rule asks whether a child exists before it writes it, as with
// createWhen, a hidden child must not count as absent.

// readUnmarked reads the object with a child's name that the informer does not show. It returns the object if it may be
// marked again, and nil if it is somebody else's or does not exist.
func (p *pass) readUnmarked(ctx context.Context, kind restmapping.Kind, rendered *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	live, err := p.r.readChild(ctx, kind.GVR, rendered)
	if err != nil || live == nil || live.GetDeletionTimestamp() != nil || !p.r.Writer.MayMark(live, p.op.Owner(p.parent, "")) {
		return nil, err
	}
	return live, nil
}

// unmarkedChild returns the object with a child's name in a view that hides it; nil if there is none or it is not the
// parent's. version is the object's resourceVersion. An object is read once in a reconcile, and somebody else's object
// once in each version.
func (r *reader) unmarkedChild(kind restmapping.Kind, rendered *unstructured.Unstructured, version string) (*unstructured.Unstructured, error) {
	id := identity.Of(rendered)
	if live, known := r.revealed[id]; known {
		return live, nil
	}
	if r.p.memory != nil && r.p.memory.Foreign[id] == version {
		return nil, nil
	}
	live, err := r.readUnmarked(kind, rendered)
	if err != nil {
		return nil, err
	}
	if r.revealed == nil {
		r.revealed = make(map[identity.ID]*unstructured.Unstructured)
	}
	r.revealed[id] = live
	if live == nil && r.p.memory != nil {
		if r.p.memory.Foreign == nil {
			r.p.memory.Foreign = make(map[identity.ID]string)
		}
		r.p.memory.Foreign[id] = version
	}
	return live, nil
}

// isOurs reports whether a child in view, or one that readUnmarked returned, is the parent's.
func (r *reader) isOurs(live *unstructured.Unstructured) bool {
	return r.revealed[identity.Of(live)] == live || r.p.r.Marks.Owns(live, r.p.op.ID, r.p.parent.GetUID())
}
