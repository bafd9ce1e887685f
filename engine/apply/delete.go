package apply

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/engine/apply/mark"
)

// Delete deletes a child, with preconditions on the UID and the resourceVersion of live and with background propagation.
// When the object has changed since, it is read once more and deleted only if it is the same object and still belongs to
// the owner that live belongs to. The result is nil when the object is gone or replaced, is being deleted already, or is
// no longer ours. An object whose mark proves no owner is never deleted.
func (w *Writer) Delete(ctx context.Context, gvr schema.GroupVersionResource, live *unstructured.Unstructured) error {
	owner, ok := w.marks.OwnerOf(live)
	if !ok || owner.Parent.UID == "" {
		return fmt.Errorf("delete %s: it is not proven to be a child", mark.RefOf(live))
	}
	if live.GetDeletionTimestamp() != nil {
		return nil
	}
	err := w.deleteExactly(ctx, gvr, live, metav1.DeletePropagationBackground)
	if !apierrors.IsConflict(err) {
		return err
	}
	fresh, getErr := w.getSame(ctx, gvr, live)
	var replaced *ReplacedError
	switch {
	case errors.As(getErr, &replaced):
		w.Forget(live.GetUID())
		return nil
	case getErr != nil:
		return getErr
	case fresh.GetDeletionTimestamp() != nil, !w.marks.Owns(fresh, owner.RuleID, owner.Parent.UID):
		return nil
	default:
		return w.deleteExactly(ctx, gvr, fresh, metav1.DeletePropagationBackground)
	}
}

// deleteExactly deletes obj in the version given. An object that is gone is no error.
func (w *Writer) deleteExactly(ctx context.Context, gvr schema.GroupVersionResource, obj *unstructured.Unstructured, propagation metav1.DeletionPropagation) error {
	ref := mark.RefOf(obj)
	version := obj.GetResourceVersion()
	err := w.resource(gvr, ref.Namespace).Delete(ctx, ref.Name, metav1.DeleteOptions{
		Preconditions:     &metav1.Preconditions{UID: &ref.UID, ResourceVersion: &version},
		PropagationPolicy: &propagation,
	})
	if apierrors.IsNotFound(err) {
		w.Forget(ref.UID)
		return nil
	}
	if err != nil {
		return fmt.Errorf("delete %s: %w", ref, err)
	}
	logr.FromContextOrDiscard(ctx).V(2).Info("deleted", "child", ref, "uid", ref.UID)
	return nil
}
