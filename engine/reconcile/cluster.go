package reconcile

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/engine/operator"
	"kanon.dev/kanon/engine/queue"
	"kanon.dev/kanon/engine/watch"
	"kanon.dev/kanon/restmapping"
)

// getParent reads the parent of a key from the API server. It returns nil if the parent does not exist.
func (r *Reconciler) getParent(ctx context.Context, op *operator.Operator, k queue.Key) (*unstructured.Unstructured, error) {
	logr.FromContextOrDiscard(ctx).V(4).Info("reading the parent")
	return r.get(ctx, op.Parent.GVR, k.Parent, op.Parent.GVK.Kind+" "+k.Parent.String())
}

// readChild reads the object with the name of a child from the API server. It returns nil if the object does not exist.
func (r *Reconciler) readChild(ctx context.Context, gvr schema.GroupVersionResource, child *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	return r.get(ctx, gvr, identity.Of(child).NamespacedName, mark.RefOf(child).String())
}

func (r *Reconciler) get(ctx context.Context, gvr schema.GroupVersionResource, name types.NamespacedName, what string) (*unstructured.Unstructured, error) {
	live, err := r.Client.Resource(gvr).Namespace(name.Namespace).Get(ctx, name.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", what, err)
	}
	return live, nil
}

// unreadChildren lists, without decoding them, the objects of a resource that the rule created for a parent, by the tags
// of its children; see Plan.TagsOf.
func (r *Reconciler) unreadChildren(op *operator.Operator, gvr schema.GroupVersionResource, tags []string) []*watch.Object {
	var found []*watch.Object
	for _, tag := range tags {
		found = append(found, r.Monitors.UnreadByIndex(op.ChildKey(gvr), operator.IndexParent, tag)...)
	}
	return found
}

// childHeads lists the objects of unreadChildren, with apiVersion, kind and metadata.
func (r *Reconciler) childHeads(op *operator.Operator, gvr schema.GroupVersionResource, tags []string) []*unstructured.Unstructured {
	objects := r.unreadChildren(op, gvr, tags)
	heads := make([]*unstructured.Unstructured, len(objects))
	for i, object := range objects {
		heads[i] = object.Head()
	}
	return heads
}

// hasChildren reports whether an informer shows a child of the key's rule and parent.
func (r *Reconciler) hasChildren(op *operator.Operator, k queue.Key) bool {
	tags := op.TagsOf(k)
	for kind := range op.ChildKinds() {
		if len(r.unreadChildren(op, kind.GVR, tags)) > 0 {
			return true
		}
	}
	return false
}

// childrenOf lists the objects that a rule may have created for the parent of a key.
func (r *Reconciler) childrenOf(op *operator.Operator, k queue.Key) []identity.ID {
	var refs []identity.ID
	tags := op.TagsOf(k)
	for kind := range op.ChildKinds() {
		for _, object := range r.childHeads(op, kind.GVR, tags) {
			refs = append(refs, identity.Of(object))
		}
	}
	return refs
}

// childOf returns a child as its mark describes it.
func (r *Reconciler) childOf(gvr schema.GroupVersionResource, object *unstructured.Unstructured) operator.Child {
	owner, isMarked := r.Marks.OwnerOf(object)
	return operator.Child{GVR: gvr, Object: object, Owner: owner, IsMarked: isMarked}
}

// checkAbsent returns an error unless the cluster certainly lacks the kinds that the rule's children had and that were
// missing when the operator was planned: the objects of a kind are deleted with the kind. A kind that is served in
// other versions still has its objects.
func (r *Reconciler) checkAbsent(ctx context.Context, op *operator.Operator) error {
	for _, gvk := range op.Absent {
		_, err := r.Mapper.Kind(ctx, gvk)
		if err == nil {
			r.Replan()
			return fmt.Errorf("the cluster has the kind %s again, and the rule is about to read its objects", gvk)
		}
		unknown, ok := errors.AsType[*restmapping.UnknownKindError](err)
		if !ok || len(unknown.Served) > 0 && !op.HasKind(gvk.GroupKind()) {
			return err
		}
	}
	return nil
}
