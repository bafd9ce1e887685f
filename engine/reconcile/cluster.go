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
	"kanon.dev/kanon/engine/monitor"
	"kanon.dev/kanon/engine/operator"
	"kanon.dev/kanon/engine/plan"
	"kanon.dev/kanon/engine/queue"
	"kanon.dev/kanon/engine/status"
	"kanon.dev/kanon/kinds/restmapping"
	"kanon.dev/kanon/wire"
)

// Cluster is the cluster as a reconcile reads and changes it. It embeds what reports on a parent need, because the
// other phases need that too.
type Cluster struct {
	status.Options

	// Objects lists objects without their content.
	Objects monitor.Client
	// Writer writes children and finalizers.
	Writer *apply.Writer
	Marks  *mark.Marks
	// Replan plans the rules again whose missing kinds exist again.
	Replan func()

	// longLists admits one reconcile at a time to lists of which the size is in the hands of others.
	longLists chan struct{}
}

// getParent reads the parent of a key from the API server. It returns nil if the parent does not exist.
func (c *Cluster) getParent(ctx context.Context, op *operator.Operator, k queue.Key) (*unstructured.Unstructured, error) {
	logr.FromContextOrDiscard(ctx).V(4).Info("reading the parent")
	return c.read(ctx, op.Parent.GVR, k.Parent, op.Parent.GVK.Kind+" "+k.Parent.String())
}

// readChild reads the object with the name of a child from the API server. It returns nil if the object does not exist.
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

// unreadChildren lists, without decoding them, the objects of a resource that the rule created for a parent, by the tags
// of its children; see Plan.TagsOf.
func (c *Cluster) unreadChildren(op *operator.Operator, gvr schema.GroupVersionResource, tags []string) []*wire.Object {
	var found []*wire.Object
	for _, tag := range tags {
		found = append(found, c.Monitors.UnreadByIndex(op.ChildKey(gvr), plan.IndexParent, tag)...)
	}
	return found
}

// childHeads lists the objects of unreadChildren, with apiVersion, kind and metadata.
func (c *Cluster) childHeads(op *operator.Operator, gvr schema.GroupVersionResource, tags []string) []*unstructured.Unstructured {
	objects := c.unreadChildren(op, gvr, tags)
	heads := make([]*unstructured.Unstructured, len(objects))
	for i, object := range objects {
		heads[i] = object.Head()
	}
	return heads
}

// hasChildren reports whether an informer shows a child of the key's rule and parent.
func (c *Cluster) hasChildren(op *operator.Operator, k queue.Key) bool {
	tags := op.TagsOf(k)
	for kind := range op.ChildKinds() {
		if len(c.unreadChildren(op, kind.GVR, tags)) > 0 {
			return true
		}
	}
	return false
}

// childrenOf lists the objects that a rule may have created for the parent of a key.
func (c *Cluster) childrenOf(op *operator.Operator, k queue.Key) []identity.ID {
	var refs []identity.ID
	tags := op.TagsOf(k)
	for kind := range op.ChildKinds() {
		for _, object := range c.childHeads(op, kind.GVR, tags) {
			refs = append(refs, identity.Of(object))
		}
	}
	return refs
}

// childOf returns a child as its mark describes it.
func (c *Cluster) childOf(gvr schema.GroupVersionResource, object *unstructured.Unstructured) ending.Child {
	owner, isMarked := c.Marks.OwnerOf(object)
	return ending.Child{GVR: gvr, Object: object, Owner: owner, IsMarked: isMarked}
}

// checkAbsent returns an error unless the cluster certainly lacks the kinds that the rule's children had and that were
// missing when the operator was planned: the objects of a kind are deleted with the kind. A kind that is served in
// other versions still has its objects.
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
