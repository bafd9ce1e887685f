package apply

import (
	"context"
	"fmt"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/apply/mark"
)

// Orphan orphans a child: it removes the ownerReference, labels and annotations of the owner, and records where the
// object came from. It writes in exactly the version seen. If the object has changed, it is read once more, and
// orphaned if it is the same object and still belongs to the owner. The result is the object after that; nil if it is
// gone, is being deleted, or is no longer ours.
func (w *Writer) Orphan(ctx context.Context, gvr schema.GroupVersionResource, live *unstructured.Unstructured, owner mark.Owner) (*unstructured.Unstructured, error) {
	return w.exactly(ctx, gvr, live, 2, apierrors.IsConflict, func(live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		if live.GetDeletionTimestamp() != nil || !w.Marks.Owns(live, owner.RuleID, owner.Parent.UID) {
			return nil, nil
		}
		return w.orphanExactly(ctx, gvr, live, owner)
	})
}

func (w *Writer) orphanExactly(ctx context.Context, gvr schema.GroupVersionResource, live *unstructured.Unstructured, owner mark.Owner) (*unstructured.Unstructured, error) {
	ref := mark.RefOf(live)
	metadata := mark.Orphaned(live, owner)
	metadata["uid"], metadata["resourceVersion"] = string(ref.UID), live.GetResourceVersion()
	answer, err := w.Server.PatchMetadata(ctx, gvr, ref, fieldset.Manager, metadata)
	if err != nil {
		return nil, fmt.Errorf("orphan %s: %w", ref, err)
	}
	w.Forget(ref.UID)
	logr.FromContextOrDiscard(ctx).V(2).Info("orphaned", "child", ref, "uid", ref.UID)
	return answer, nil
}

// Return takes back an object that Sync found in the child's place and that the same rule orphaned for the same
// parent: live is Free of the *NameConflictError, whose Returns is true. With asIs its content stays as it
// is. Before that, the caller reads the parent from the API server, as for Adopt.
func (w *Writer) Return(ctx context.Context, child *Child, live *unstructured.Unstructured, asIs bool) (Result, error) {
	returning := *child
	returning.takesRetained = true
	if asIs {
		return w.reclaim(ctx, &returning, live)
	}
	return w.update(ctx, &returning, live)
}

// isRetainedForOwner reports whether live is an orphan of this rule and parent, and nobody has claimed it since.
func (c *Child) isRetainedForOwner(live *unstructured.Unstructured) bool {
	by, ok := mark.MetadataString(live, "annotations", mark.AnnotationRetained)
	if !ok || by != c.Owner.RetainedBy() {
		return false
	}
	_, claimed := c.options.Marks.OwnerOf(live)
	return !claimed && metav1.GetControllerOfNoCopy(live) == nil
}
