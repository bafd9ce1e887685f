package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/engine/apply"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/ending"
	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/engine/queue"
	"kanon.dev/kanon/restmapping"
	"kanon.dev/kanon/rules"
)

// Children are tied to their parent in one of two ways. Where Kubernetes allows it
// they carry a controller ownerReference, and the garbage collector takes them when
// the parent goes. All others are known by their labels and the owner annotation,
// and a finalizer of the rule holds the parent until they are gone.

// seekPage is how many parents are read at once when those are sought that have the finalizer and that no informer shows.
const seekPage = 500

// hasFinalizer tells whether a parent has the rule's finalizer.
func (op *operator) hasFinalizer(parent *unstructured.Unstructured) bool {
	return apply.Has(parent, finalizers+op.id)
}

// refers tells whether a child can carry an owner reference to its parent: one in
// another namespace, or in none, would be taken for garbage at once, and one of a rule that
// finalizes by a foreground deletion before the rule has its say.
func (op *operator) refers(parent, child *unstructured.Unstructured) bool {
	return !op.program.Finalizes() && (!op.parent.Namespaced || child.GetNamespace() == parent.GetNamespace())
}

// mayHold tells whether the rule may have children that need the finalizer.
func (op *operator) mayHold() bool {
	return op.program.Finalizes() || slices.ContainsFunc(op.program.Children(), func(child rules.Child) bool {
		kind, exists := op.children[child.GVK]
		outside := op.parent.Namespaced && (child.Elsewhere || !kind.Namespaced)
		return exists && (outside || ending.Policies{ByNode: op.deletions}.MayKeep(child.ID))
	})
}

// holdToFinalize holds the parent of a rule that has to finalize it, whether it has
// children or not, and tells whether it is held.
func (p *pass) holdToFinalize(ctx context.Context) bool {
	if !p.op.program.Finalizes() {
		return true
	}
	if err := p.finalizer.add(ctx); err != nil {
		p.problems = append(p.problems, problemOfFinalizer(err))
		return false
	}
	return true
}

// unhold lets a parent go that nothing needs to hold any more. It comes after all
// writes and prunes.
func (p *pass) unhold(ctx context.Context) {
	if p.finalizer.needed || !p.op.hasFinalizer(p.parent) || len(p.problems) > 0 || p.holdsPrune() || p.suspended() {
		return
	}
	var err error
	if !p.op.removal.keepsChildren() {
		err = p.checkEnded(ctx)
	}
	if err == nil {
		err = p.finalizer.remove(ctx)
	}
	if err != nil && (!errors.Is(err, errNotEnded) || p.op.removal != nil) {
		p.problems = append(p.problems, problemOfFinalizer(err))
	}
}

// errNotEnded says that the API server has children of which memory does not know
// yet, or of which the prune is held: an event follows.
var errNotEnded = errors.New("there are children still that are tracked by their labels")

// checkEnded fails unless the children that only the rule can end are gone or going.
func (p *pass) checkEnded(ctx context.Context) error {
	children, err := p.listTracked(ctx)
	if err == nil && slices.ContainsFunc(children, func(child ending.Child) bool { return !child.IsDeleting() }) {
		err = errNotEnded
	}
	return err
}

// isTracked tells whether a child is the parent's and only the rule can end it.
func (p *pass) isTracked(child *unstructured.Unstructured) bool {
	return p.marks.Owns(child, p.op.id, p.parent.GetUID()) && !mark.RefersTo(child, p.parent.GetUID())
}

// tracked lists the parent's children that only the rule can end, as far as memory
// knows.
func (p *pass) tracked() []ending.Child {
	var found []ending.Child
	seen := make(map[identity.ID]bool)
	for kind := range p.op.childKinds() {
		for _, child := range p.childHeads(p.op, kind.GVR, p.key) {
			if id := identity.Of(child); !seen[id] && p.isTracked(child) {
				seen[id] = true
				found = append(found, p.childOf(kind.GVR, child))
			}
		}
	}
	return found
}

// listTracked is tracked by the API server's word. It fails where one kind cannot
// be listed, or where it is not known whether there is such a kind: nothing is known
// of the parent's children then.
func (p *pass) listTracked(ctx context.Context) ([]ending.Child, error) {
	if err := p.engine.checkAbsent(ctx, p.op); err != nil {
		return nil, err
	}
	var found []ending.Child
	seen := make(map[identity.ID]bool)
	for kind := range p.op.childKinds() {
		err := p.eachLabelled(ctx, kind.GVR, func(child *unstructured.Unstructured) {
			if id := identity.Of(child); !seen[id] && p.isTracked(child) {
				seen[id] = true
				found = append(found, p.childOf(kind.GVR, child))
			}
		})
		if err != nil {
			return nil, fmt.Errorf("list %s of %s: %w", kind.GVR.GroupResource(), mark.RefOf(p.parent), err)
		}
	}
	return found, nil
}

// trackedPage is how many objects one request for tracked children asks for. Anybody may set their labels, on objects of a
// megabyte each, so few are held at the same time.
const trackedPage = 50

// eachLabelled calls f for every object that has the labels of the parent's tracked children, whoever set them.
func (p *pass) eachLabelled(ctx context.Context, gvr schema.GroupVersionResource, f func(*unstructured.Unstructured)) error {
	options := metav1.ListOptions{
		LabelSelector: mark.LabelRule + "=" + p.op.id + "," + mark.LabelParentUID + "=" + string(p.parent.GetUID()),
		Limit:         trackedPage,
	}
	for {
		list, err := p.client.Resource(gvr).List(ctx, options)
		if err != nil {
			return err
		}
		for i := range list.Items {
			f(&unstructured.Unstructured{Object: list.Items[i].Object}) // which keeps no other object of the page
		}
		if options.Continue = list.GetContinue(); options.Continue == "" {
			return nil
		}
	}
}

// checkAbsent fails unless the cluster is known not to have the kinds that the rule's
// children had and that it did not show when the operator was planned: with a kind, all
// its objects went. A kind that is served in other versions has them still.
func (e *Engine) checkAbsent(ctx context.Context, op *operator) error {
	for _, gvk := range op.absent {
		_, err := e.options.Mapper.Kind(ctx, gvk)
		if err == nil {
			e.news.ring() // so that it does
			return fmt.Errorf("the cluster has the kind %s again, and the rule is about to look at its objects", gvk)
		}
		unknown, ok := errors.AsType[*restmapping.UnknownKindError](err)
		if !ok || len(unknown.Served) > 0 && !op.hasKind(gvk.GroupKind()) {
			return err
		}
	}
	return nil
}

// hasKind tells whether the rule's children of a kind are seen, in whatever version.
func (op *operator) hasKind(kind schema.GroupKind) bool {
	for of := range op.childKinds() {
		if of.GVK.GroupKind() == kind {
			return true
		}
	}
	return false
}

// seekKey is the work of looking once, when a rule starts, for parents that it holds
// and does not see.
func seekKey(op *operator) queue.Key { return queue.Key{Rule: op.id} }

// mustSeek tells whether parents may be out of view, held since before the rule
// started, be it by an earlier revision: one without children is found by nothing else.
func (e *Engine) mustSeek(op *operator) bool {
	stored, _ := e.records.Get(op.id)
	return op.isNarrow() && (op.mayHold() || stored.Finalizers) && !op.sought.Swap(true)
}

// seek wakes the parents that the rule holds and does not see. Where Kanon may not
// list them all, it cannot have held what it cannot read.
func (e *Engine) seek(ctx context.Context, op *operator) outcome {
	options := metav1.ListOptions{Limit: seekPage}
	for {
		list, err := e.options.Client.Resource(op.parent.GVR).List(ctx, options)
		if apierrors.IsForbidden(err) {
			logr.FromContextOrDiscard(ctx).V(1).Info("parents that are held out of view are not looked for", "reason", err.Error())
			return outcome{}
		}
		if err != nil {
			return outcome{verdict: again, err: fmt.Errorf("look for parents out of view: %w", err)}
		}
		for i := range list.Items {
			if parent := &list.Items[i]; op.hasFinalizer(parent) && !op.inView(parent) {
				k := keyOf(op.id, parent)
				e.parents.SetFinalizer(k, true)
				e.queue.Add(k)
			}
		}
		if options.Continue = list.GetContinue(); options.Continue == "" {
			return outcome{}
		}
	}
}
