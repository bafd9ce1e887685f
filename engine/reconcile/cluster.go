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

	"kanon.dev/kanon/engine/apply"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/ending"
	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/engine/operator"
	"kanon.dev/kanon/engine/plan"
	"kanon.dev/kanon/engine/queue"
	"kanon.dev/kanon/engine/status"
	"kanon.dev/kanon/kinds/restmapping"
	"kanon.dev/kanon/wire"
)

// Cluster is the cluster as a reconcile reads and changes it. What reports on a parent need of it, the other phases need as well.
type Cluster struct {
	status.Options

	// Writer writes children and finalizers.
	Writer *apply.Writer
	Marks  *mark.Marks
	// Replan has the rules planned again whose kinds exist again.
	Replan func()
}

// getParent reads the parent of a key from the API server; nil if it does not exist.
func (c *Cluster) getParent(ctx context.Context, op *operator.Operator, k queue.Key) (*unstructured.Unstructured, error) {
	logr.FromContextOrDiscard(ctx).V(4).Info("reading the parent")
	return c.read(ctx, op.Parent.GVR, k.Parent, op.Parent.GVK.Kind+" "+k.Parent.String())
}

// readChild reads the object that has the name of a child; nil if it does not exist.
func (c *Cluster) readChild(ctx context.Context, gvr schema.GroupVersionResource, child *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	return c.read(ctx, gvr, identity.Of(child).NamespacedName, mark.RefOf(child).String())
}

func (c *Cluster) read(ctx context.Context, gvr schema.GroupVersionResource, name types.NamespacedName, what string) (*unstructured.Unstructured, error) {
	live, err := c.Client.Resource(gvr).Namespace(name.Namespace).Get(ctx, name.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", what, err)
	}
	return live, nil
}

// unreadChildren lists the objects of a resource that the rule created for a parent of that name, without decoding them.
func (c *Cluster) unreadChildren(op *operator.Operator, gvr schema.GroupVersionResource, k queue.Key) []*wire.Object {
	var found []*wire.Object
	for _, tag := range op.TagsOf(k) {
		found = append(found, c.Monitors.UnreadByIndex(op.ChildKey(gvr), plan.IndexParent, tag)...)
	}
	return found
}

// childHeads lists what unreadChildren does, with apiVersion, kind and metadata.
func (c *Cluster) childHeads(op *operator.Operator, gvr schema.GroupVersionResource, k queue.Key) []*unstructured.Unstructured {
	objects := c.unreadChildren(op, gvr, k)
	heads := make([]*unstructured.Unstructured, len(objects))
	for i, object := range objects {
		heads[i] = object.Head()
	}
	return heads
}

// hasChildren tells whether an informer shows a child of the key's rule and parent.
func (c *Cluster) hasChildren(op *operator.Operator, k queue.Key) bool {
	for kind := range op.ChildKinds() {
		if len(c.unreadChildren(op, kind.GVR, k)) > 0 {
			return true
		}
	}
	return false
}

// childrenOf lists what a rule may have created for the parent of a key.
func (c *Cluster) childrenOf(op *operator.Operator, k queue.Key) []identity.ID {
	var refs []identity.ID
	for kind := range op.ChildKinds() {
		for _, object := range c.childHeads(op, kind.GVR, k) {
			refs = append(refs, identity.Of(object))
		}
	}
	return refs
}

// childOf is a child as its mark describes it.
func (c *Cluster) childOf(gvr schema.GroupVersionResource, object *unstructured.Unstructured) ending.Child {
	owner, isMarked := c.Marks.OwnerOf(object)
	return ending.Child{GVR: gvr, Object: object, Owner: owner, IsMarked: isMarked}
}

// checkAbsent fails unless the cluster is known not to have the kinds that the rule's children had and that it did not show when
// the operator was planned: with a kind, all its objects went. A kind that is served in other versions has them still.
func (c *Cluster) checkAbsent(ctx context.Context, op *operator.Operator) error {
	for _, gvk := range op.Absent {
		_, err := c.Mapper.Kind(ctx, gvk)
		if err == nil {
			c.Replan()
			return fmt.Errorf("the cluster has the kind %s again, and the rule is about to read its objects", gvk)
		}
		unknown, ok := errors.AsType[*restmapping.UnknownKindError](err)
		if !ok || len(unknown.Served) > 0 && !op.HasKind(gvk.GroupKind()) {
			return err
		}
	}
	return nil
}
