package reconcile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/apply"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/engine/operator"
	"kanon.dev/kanon/engine/queue"
	"kanon.dev/kanon/restmapping"
	"kanon.dev/kanon/rules/program"
)

// prune deletes the children that the rule created for the parent and did not render in this reconcile. It runs after
// all writes. If there have been problems or if a node's children are unknown, it deletes only what nothing can still
// need. It returns its own problems.
func (p *pass) prune(ctx context.Context, before []conditions.Problem) (problems []conditions.Problem) {
	if p.isSuspended() || p.op.Removal.KeepsChildren() {
		return nil
	}
	unrendered := p.unrendered()
	if len(before) > 0 || p.isBlocked() {
		free, held := p.split(unrendered, before)
		p.noteKept(held, before)
		p.asked = true
		if unrendered = free; !p.r.Guard.Doubt(p.op, p.key, p.atRisk(slices.Concat(free, held))) {
			return nil
		}
	} else if !p.mayPrune(unrendered) {
		return nil
	}
	for _, child := range operator.InOrder(unrendered, p.op.Ordered, p.isDeleting) {
		ref := mark.RefOf(child.Object)
		if err := p.end(ctx, child, p.keeps(child)); err != nil {
			problems = append(problems, conditions.Problem{Subject: ref.String(), Reason: conditions.ReasonDelete, Err: err})
		}
	}
	return problems
}

// isBlocked reports whether some node's children are unknown.
func (p *pass) isBlocked() bool {
	return p.reader.unseen || slices.ContainsFunc(p.result.Nodes, func(node program.NodeResult) bool { return !node.IsCurrent() })
}

// split tells the children that may be deleted in spite of the problems of this reconcile from those that may not; see
// Program.MayPrune.
func (p *pass) split(unrendered []operator.Child, problems []conditions.Problem) (free, held []operator.Child) {
	nodes := slices.Clone(p.result.Nodes)
	for _, of := range problems {
		i := slices.IndexFunc(nodes, func(node program.NodeResult) bool { return node.ID == of.Node })
		if i < 0 {
			return nil, unrendered
		}
		nodes[i].BlocksPrune = true
	}
	if p.reader.unseen || p.reader.incomplete || p.finalizing {
		return nil, unrendered
	}
	for _, child := range unrendered {
		if p.op.Program.MayPrune(child.Owner.Node, nodes, p.exists) {
			free = append(free, child)
		} else {
			held = append(held, child)
		}
	}
	return free, held
}

// exists reports whether the parent has objects of a node in the cluster, as the informers show it.
func (p *pass) exists(node string) bool {
	of, ok := p.op.Nodes[node]
	return !ok || slices.ContainsFunc(p.r.childHeads(p.op, of.GVR, p.op.TagsOf(p.key)), func(obj *unstructured.Unstructured) bool {
		return p.reader.madeBy(obj, node)
	})
}

// noteKept records the children that are kept for now, for the parent's conditions. It skips nodes that wait or fail:
// their own messages already say so.
func (p *pass) noteKept(unrendered []operator.Child, problems []conditions.Problem) {
	unclear := make(map[string]bool)
	for _, node := range p.result.Nodes {
		unclear[node.ID] = node.State == program.StateWaiting || node.State == program.StateFailed
	}
	if len(problems) > 0 && !slices.ContainsFunc(problems, func(of conditions.Problem) bool { return !of.IsTransient() }) {
		return // the next reconcile, which follows by itself, says more
	}
	for _, child := range unrendered {
		if child.IsMarked && !unclear[child.Owner.Node] && !p.keeps(child) {
			p.kept = append(p.kept, mark.RefOf(child.Object).String())
		}
	}
}

// endings returns the policies that say which children are kept.
func (p *pass) endings() operator.Policies {
	return operator.Policies{ByNode: p.op.Deletions, Decided: p.decided, KeepAll: p.orphaning}
}

// keeps reports whether a child that this reconcile did not render is orphaned, not deleted.
func (p *pass) keeps(child operator.Child) bool {
	if child.Owner.Parent.UID != p.parent.GetUID() {
		return p.endings().KeepsDeleted(child) // its parent was deleted
	}
	return p.endings().KeepsPruned(child)
}

// unrendered lists the parent's children that this reconcile did not render and that are not being deleted, by node.
// Leftovers of an earlier parent of the same name are among them.
func (p *pass) unrendered() []operator.Child {
	var found []operator.Child
	seen := make(map[types.UID]bool)
	tags := p.op.TagsOf(p.key)
	for kind := range p.op.ChildKinds() {
		for _, child := range p.r.unreadChildren(p.op, kind.GVR, tags) {
			if p.rendered[identity.At(child)] {
				continue
			}
			object := child.Head()
			if seen[object.GetUID()] || object.GetDeletionTimestamp() != nil {
				continue
			}
			// The index knows only the parent's name. Only a proof of ownership allows a deletion.
			if child := p.r.childOf(kind.GVR, object); p.owns(child) {
				seen[object.GetUID()] = true
				found = append(found, child)
			}
		}
	}
	slices.SortFunc(found, func(a, b operator.Child) int {
		return cmp.Or(strings.Compare(a.Owner.Node, b.Owner.Node), compareObjects(a.Object, b.Object))
	})
	return found
}

// mayPrune asks the guard whether these children may be deleted. A new revision of the rule may have to wait; see
// package guard.
func (p *pass) mayPrune(unrendered []operator.Child) bool {
	if p.op.Removal != nil {
		return true
	}
	p.asked = true
	switch p.result.Deletion {
	case program.DeletionUnknown:
		return p.r.Guard.Doubt(p.op, p.key, p.atRisk(unrendered))
	case program.DeletionOn:
		return p.r.Guard.Decide(p.op, p.key, p.atRisk(unrendered))
	default:
		return p.r.Guard.Decide(p.op, p.key, p.toDelete(unrendered))
	}
}

// atRisk lists the most that a parent may lose: these children, and itself if the rule can delete it.
func (p *pass) atRisk(unrendered []operator.Child) []identity.ID {
	refs := p.toDelete(unrendered)
	if p.op.Program.DeleteWhen != nil {
		refs = append(refs, identity.Of(p.parent))
	}
	return refs
}

// toDelete lists the children that would be deleted rather than orphaned, and those that would be recreated.
func (p *pass) toDelete(unrendered []operator.Child) []identity.ID {
	refs := slices.Clone(p.blocked)
	for _, child := range unrendered {
		if !p.keeps(child) {
			refs = append(refs, identity.Of(child.Object))
		}
	}
	return refs
}

// end deletes a child, or orphans it if it is kept.
func (p *pass) end(ctx context.Context, child operator.Child, isKept bool) error {
	if err := p.checkEarlier(ctx, child); err != nil {
		return err
	}
	defer p.beginWrite(child.Object)()
	if !isKept {
		err := p.r.Writer.Delete(ctx, child.GVR, child.Object)
		if err == nil {
			p.deleted(child.Object)
			p.r.creations.forget(p.key, identity.Of(child.Object))
		}
		return err
	}
	owner := p.op.Owner(p.parent, "")
	owner.Parent.UID = child.Owner.Parent.UID
	free, err := p.r.Writer.Orphan(ctx, child.GVR, child.Object, owner)
	if err != nil || free == nil {
		return err
	}
	p.observe(p.op.ChildKey(child.GVR), free)
	p.emit(conditions.ReasonOrphaned,
		"%s stays and is no longer a child of this object, by the deletionPolicy of rule %s", mark.RefOf(free), p.op.Name)
	return nil
}

// errNotEnded reports that the API server has children that no informer shows yet, or whose deletion the guard blocks.
// An event follows.
var errNotEnded = errors.New("children that are tracked by their labels still exist")

// checkEnded returns an error unless the children that only the rule can end are gone or being deleted.
func (p *pass) checkEnded(ctx context.Context) error {
	children, err := p.listTracked(ctx)
	if err == nil && slices.ContainsFunc(children, func(child operator.Child) bool { return !child.IsDeleting() }) {
		err = errNotEnded
	}
	return err
}

// tracked lists the parent's children that only the rule can end, as the informers show them.
func (p *pass) tracked() []operator.Child {
	tags := p.op.TagsOf(p.key)
	found, _ := p.collectTracked(func(kind restmapping.Kind, add func(*unstructured.Unstructured)) error {
		for _, child := range p.r.childHeads(p.op, kind.GVR, tags) {
			add(child)
		}
		return nil
	})
	return found
}

// listTracked is tracked, but asks the API server. It returns an error if a kind cannot be listed, or if it is unknown
// whether the cluster has a kind: then there may be more children.
func (p *pass) listTracked(ctx context.Context) ([]operator.Child, error) {
	if err := p.r.checkAbsent(ctx, p.op); err != nil {
		return nil, err
	}
	return p.collectTracked(func(kind restmapping.Kind, add func(*unstructured.Unstructured)) error {
		return p.eachLabelled(ctx, kind, add)
	})
}

func (p *pass) collectTracked(each func(restmapping.Kind, func(*unstructured.Unstructured)) error) (found []operator.Child, err error) {
	seen := make(map[identity.ID]bool) // a kind may be read in two versions
	for kind := range p.op.ChildKinds() {
		err := each(kind, func(child *unstructured.Unstructured) {
			id, of := identity.Of(child), p.r.childOf(kind.GVR, child)
			if !seen[id] && p.owns(of) && !mark.RefersTo(child, p.parent.GetUID()) {
				seen[id] = true
				found = append(found, of)
			}
		})
		if err != nil {
			return nil, fmt.Errorf("list %s of %s: %w", kind.GVR.GroupResource(), mark.RefOf(p.parent), err)
		}
	}
	return found, nil
}

// firstPage and nextPage are the page sizes of lists of tracked children. Anybody may set their labels, on many objects
// of which the metadata alone takes a megabyte. So the first page, which most parents do not exceed, is small, and only
// one reconcile at a time reads further pages.
const firstPage, nextPage = 4, 20

// eachLabelled calls f with the metadata of every object that has the labels of the parent's tracked children, whoever
// set them. Only the metadata is read.
func (p *pass) eachLabelled(ctx context.Context, kind restmapping.Kind, f func(*unstructured.Unstructured)) error {
	objects := p.r.Objects.Objects(kind.GVR, p.op.Identity.Home())
	options := metav1.ListOptions{
		LabelSelector: mark.LabelRule + "=" + p.op.ID + "," + mark.LabelParentUID + "=" + string(p.parent.GetUID()),
		Limit:         firstPage,
	}
	for {
		page, next, err := objects.MetadataPage(ctx, kind.GVK, options)
		if err != nil {
			return err //nolint:wrapcheck // collectTracked does.
		}
		for _, object := range page {
			f(object)
		}
		if next == "" {
			return nil
		}
		if options.Continue == "" {
			select {
			case p.r.longLists <- struct{}{}:
				defer func() { <-p.r.longLists }()
			case <-ctx.Done():
				return ctx.Err() //nolint:wrapcheck // As above.
			}
		}
		options.Continue, options.Limit = next, nextPage
	}
}

// isDeleting reports whether an object that a node created and no longer renders is being deleted.
func (p *pass) isDeleting(node string) bool {
	children := p.r.childHeads(p.op, p.op.Nodes[node].GVR, p.op.TagsOf(p.key))
	return slices.ContainsFunc(children, func(obj *unstructured.Unstructured) bool {
		return obj.GetDeletionTimestamp() != nil && !p.rendered[identity.Of(obj)] && p.reader.madeBy(obj, node)
	})
}

// riskOf is atRisk for a parent that is not evaluated.
func (r *Reconciler) riskOf(op *operator.Operator, k queue.Key, parent *unstructured.Unstructured) []identity.ID {
	refs := r.childrenOf(op, k)
	if op.Program.DeleteWhen != nil {
		refs = append(refs, identity.Of(parent))
	}
	return refs
}

// deleteParent deletes the parent if deleteWhen is true, and reports whether it did. It deletes exactly the version
// that was evaluated; a parent that has changed since is evaluated again.
func (p *pass) deleteParent(ctx context.Context) (done bool, problems []conditions.Problem) {
	if p.result.Deletion != program.DeletionOn || p.reader.incomplete || p.reader.unseen || p.isSuspended() || !p.mayPrune(p.unrendered()) {
		return false, nil
	}
	defer p.beginWrite(p.parent)()
	uid, version, background := p.parent.GetUID(), p.parent.GetResourceVersion(), metav1.DeletePropagationBackground
	err := p.r.Client.Resource(p.op.Parent.GVR).Namespace(p.parent.GetNamespace()).Delete(ctx, p.parent.GetName(), metav1.DeleteOptions{
		Preconditions:     &metav1.Preconditions{UID: &uid, ResourceVersion: &version},
		PropagationPolicy: &background,
	})
	ref := mark.RefOf(p.parent)
	switch {
	case apierrors.IsNotFound(err):
		return true, nil
	case apierrors.IsConflict(err):
		return false, []conditions.Problem{conditions.OfWrite("deleteWhen", &apply.ReplacedError{Ref: ref, Err: err})}
	case err != nil:
		return false, []conditions.Problem{conditions.OfWrite("deleteWhen", fmt.Errorf("delete %s: %w", ref, err))}
	}
	p.deleted(p.parent)
	logr.FromContextOrDiscard(ctx).V(2).Info("deleted the parent", "uid", uid)
	p.emit(conditions.ReasonDeleted, "it is deleted, because deleteWhen of rule %s is true", p.op.Name)
	return true, nil
}
