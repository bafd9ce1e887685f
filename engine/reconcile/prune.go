package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/ending"
	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/engine/operator"
	"kanon.dev/kanon/engine/queue"
	"kanon.dev/kanon/kinds/restmapping"
	"kanon.dev/kanon/rules/program"
)

// deleter ends children: it deletes or orphans those that the rule no longer renders, and those that the garbage
// collector does not delete with the parent.
type deleter struct {
	*changes

	reader   *reader
	children *childWriter
	guard    Guard

	// asked is true once the guard has been asked about what the parent loses.
	asked bool
	// orphaning is true if the parent is being deleted and all its children are kept. decided is what the rule,
	// evaluated now, decides about the children of a parent that is being deleted.
	orphaning bool
	decided   map[identity.ID]mark.Retain
	// kept are the children that the rule no longer renders and that are not deleted for now.
	kept []string
}

// prune deletes the children that the rule created for the parent and did not render in this reconcile. It runs after
// all writes. It deletes nothing if there have been problems or if a node's children are unknown: a child that looks
// superfluous may still be needed. It returns its own problems.
func (d *deleter) prune(ctx context.Context, before []conditions.Problem) (problems []conditions.Problem) {
	if d.isSuspended() || d.op.Removal.KeepsChildren() {
		return nil
	}
	unrendered := d.unrendered()
	if len(before) > 0 || d.isBlocked() {
		d.noteKept(unrendered, before)
		return nil
	}
	if !d.mayPrune(unrendered) {
		return nil
	}
	for _, child := range ending.InOrder(unrendered, d.op.Ordered, d.isDeleting) {
		ref := mark.RefOf(child.Object)
		if err := d.end(ctx, child, d.endings().KeepsPruned(child)); err != nil {
			problems = append(problems, conditions.Problem{Subject: ref.String(), Reason: conditions.ReasonDelete, Err: err})
		}
	}
	return problems
}

// isBlocked reports whether some node's children are unknown, so that nothing may be pruned.
func (d *deleter) isBlocked() bool {
	if d.reader.unseen {
		return true
	}
	for _, node := range d.result.Nodes {
		if node.BlocksPrune || (node.State != program.StateApplied && node.State != program.StateSkipped) {
			return true
		}
	}
	return false
}

// noteKept records the children that are kept for now, for the parent's conditions. It skips nodes that wait or fail:
// their own messages already say so.
func (d *deleter) noteKept(unrendered []ending.Child, problems []conditions.Problem) {
	if !slices.ContainsFunc(problems, func(of conditions.Problem) bool { return !of.IsTransient() }) {
		return
	}
	unclear := make(map[string]bool)
	for _, node := range d.result.Nodes {
		unclear[node.ID] = node.State == program.StateWaiting || node.State == program.StateFailed
	}
	policies := d.endings()
	for _, child := range unrendered {
		if child.IsMarked && !unclear[child.Owner.Node] && !policies.KeepsPruned(child) {
			d.kept = append(d.kept, mark.RefOf(child.Object).String())
		}
	}
}

// endings returns the policies that say which children are kept.
func (d *deleter) endings() ending.Policies {
	return ending.Policies{ByNode: d.op.Deletions, Decided: d.decided, KeepAll: d.orphaning}
}

// unrendered lists the parent's children that this reconcile did not render and that are not being deleted.
func (d *deleter) unrendered() []ending.Child {
	var found []ending.Child
	seen := make(map[types.UID]bool)
	tags := d.op.TagsOf(d.key)
	for kind := range d.op.ChildKinds() {
		for _, child := range d.unreadChildren(d.op, kind.GVR, tags) {
			if d.rendered[identity.At(child)] {
				continue
			}
			object := child.Head()
			// The index knows only the parent's name. Only a proof of ownership by this very parent allows a deletion.
			if seen[object.GetUID()] || object.GetDeletionTimestamp() != nil ||
				!d.Marks.Owns(object, d.op.ID, d.parent.GetUID()) {
				continue
			}
			seen[object.GetUID()] = true
			found = append(found, d.childOf(kind.GVR, object))
		}
	}
	return found
}

// mayPrune asks the guard whether these children may be deleted. A new revision of the rule may have to wait; see
// package guard.
func (d *deleter) mayPrune(unrendered []ending.Child) bool {
	if d.op.Removal != nil {
		return true
	}
	d.asked = true
	switch d.result.Deletion {
	case program.DeletionUnknown:
		return d.guard.Doubt(d.op, d.key, d.atRisk(unrendered))
	case program.DeletionOn:
		return d.guard.Decide(d.op, d.key, d.atRisk(unrendered))
	default:
		return d.guard.Decide(d.op, d.key, d.toDelete(unrendered))
	}
}

// atRisk lists the most that a parent may lose: these children, and itself if the rule can delete it.
func (d *deleter) atRisk(unrendered []ending.Child) []identity.ID {
	refs := d.toDelete(unrendered)
	if d.op.Program.DeleteWhen != nil {
		refs = append(refs, identity.Of(d.parent))
	}
	return refs
}

// toDelete lists the children that would be deleted rather than orphaned, and those that would be recreated.
func (d *deleter) toDelete(unrendered []ending.Child) []identity.ID {
	refs := slices.Clone(d.children.blocked)
	policies := d.endings()
	for _, child := range unrendered {
		if !policies.KeepsPruned(child) {
			refs = append(refs, identity.Of(child.Object))
		}
	}
	return refs
}

// end deletes a child, or orphans it if it is kept.
func (d *deleter) end(ctx context.Context, child ending.Child, isKept bool) error {
	defer d.Begin(child.Object)()
	if !isKept {
		err := d.Writer.Delete(ctx, child.GVR, child.Object)
		if err == nil {
			d.deleted(child.Object)
		}
		return err
	}
	free, err := d.Writer.Orphan(ctx, child.GVR, child.Object, d.op.Owner(d.parent, ""))
	if err != nil || free == nil {
		return err
	}
	d.Observe(d.op.ChildKey(child.GVR), free)
	conditions.Emit(d.Recorder, d.op.Name, d.parent, corev1.EventTypeNormal, conditions.ReasonOrphaned,
		"%s stays and is no longer a child of this object, by the deletionPolicy of rule %s", mark.RefOf(free), d.op.Name)
	return nil
}

// errNotEnded reports that the API server has children that no informer shows yet, or whose deletion the guard blocks.
// An event follows.
var errNotEnded = errors.New("children that are tracked by their labels still exist")

// checkEnded returns an error unless the children that only the rule can end are gone or being deleted.
func (d *deleter) checkEnded(ctx context.Context) error {
	children, err := d.listTracked(ctx)
	if err == nil && slices.ContainsFunc(children, func(child ending.Child) bool { return !child.IsDeleting() }) {
		err = errNotEnded
	}
	return err
}

// tracked lists the parent's children that only the rule can end, as the informers show them.
func (d *deleter) tracked() []ending.Child {
	tags := d.op.TagsOf(d.key)
	found, _ := d.collectTracked(func(kind restmapping.Kind, add func(*unstructured.Unstructured)) error {
		for _, child := range d.childHeads(d.op, kind.GVR, tags) {
			add(child)
		}
		return nil
	})
	return found
}

// listTracked is tracked, but asks the API server. It returns an error if a kind cannot be listed, or if it is unknown
// whether the cluster has a kind: then there may be more children.
func (d *deleter) listTracked(ctx context.Context) ([]ending.Child, error) {
	if err := d.checkAbsent(ctx, d.op); err != nil {
		return nil, err
	}
	return d.collectTracked(func(kind restmapping.Kind, add func(*unstructured.Unstructured)) error {
		return d.eachLabelled(ctx, kind, add)
	})
}

func (d *deleter) collectTracked(each func(restmapping.Kind, func(*unstructured.Unstructured)) error) (found []ending.Child, err error) {
	seen := make(map[identity.ID]bool) // a kind may be read in two versions
	for kind := range d.op.ChildKinds() {
		err := each(kind, func(child *unstructured.Unstructured) {
			id := identity.Of(child)
			if !seen[id] && d.Marks.Owns(child, d.op.ID, d.parent.GetUID()) && !mark.RefersTo(child, d.parent.GetUID()) {
				seen[id] = true
				found = append(found, d.childOf(kind.GVR, child))
			}
		})
		if err != nil {
			return nil, fmt.Errorf("list %s of %s: %w", kind.GVR.GroupResource(), mark.RefOf(d.parent), err)
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
func (d *deleter) eachLabelled(ctx context.Context, kind restmapping.Kind, f func(*unstructured.Unstructured)) error {
	objects := d.Objects.Objects(kind.GVR, d.op.Identity.Home())
	options := metav1.ListOptions{
		LabelSelector: mark.LabelRule + "=" + d.op.ID + "," + mark.LabelParentUID + "=" + string(d.parent.GetUID()),
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
			case d.longLists <- struct{}{}:
				defer func() { <-d.longLists }()
			case <-ctx.Done():
				return ctx.Err() //nolint:wrapcheck // As above.
			}
		}
		options.Continue, options.Limit = next, nextPage
	}
}

// isDeleting reports whether an object that a node created and no longer renders is being deleted.
func (d *deleter) isDeleting(node string) bool {
	children := d.childHeads(d.op, d.op.Nodes[node].GVR, d.op.TagsOf(d.key))
	return slices.ContainsFunc(children, func(obj *unstructured.Unstructured) bool {
		return obj.GetDeletionTimestamp() != nil && !d.rendered[identity.Of(obj)] && d.reader.madeBy(obj, node)
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
