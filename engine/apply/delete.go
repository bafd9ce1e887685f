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

// Delete deletes a child, with preconditions on the UID and resourceVersion of live and with background propagation.
// If the object has changed since, it is read once more, and deleted only if it is the same object and still belongs
// to the owner of live. The error is nil if the object is gone, was replaced, is being deleted already, or is no
// longer ours. An object whose mark proves no owner is never deleted.
func (w *Writer) Delete(ctx context.Context, gvr schema.GroupVersionResource, live *unstructured.Unstructured) error {
	owner, ok := w.Marks.OwnerOf(live)
	if !ok || owner.Parent.UID == "" {
		return fmt.Errorf("delete %s: it is not proven to be a child", mark.RefOf(live))
	}
	_, err := w.exactly(ctx, gvr, live, 2, apierrors.IsConflict, func(live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		if live.GetDeletionTimestamp() != nil || !w.Marks.Owns(live, owner.RuleID, owner.Parent.UID) {
			return nil, nil
		}
		return nil, w.deleteExactly(ctx, gvr, live, metav1.DeletePropagationBackground)
	})
	return err
}

// exactly writes to exactly the version seen of an object. After an error for which again is true, it reads the
// object again, with so many attempts in total. The result is nil, without an error, if the object is gone or was
// replaced.
func (w *Writer) exactly(
	ctx context.Context, gvr schema.GroupVersionResource, live *unstructured.Unstructured, attempts int, again func(error) bool,
	write func(live *unstructured.Unstructured) (*unstructured.Unstructured, error),
) (*unstructured.Unstructured, error) {
	for attempt := 1; ; attempt++ {
		answer, err := write(live)
		switch {
		case apierrors.IsNotFound(err):
			return nil, nil
		case err == nil || attempt == attempts || !again(err):
			return answer, err
		}
		fresh, err := w.Server.Reread(ctx, gvr, live)
		switch {
		case errors.As(err, new(*ReplacedError)):
			w.Forget(live.GetUID())
			return nil, nil
		case err != nil:
			return nil, err
		}
		live = fresh
	}
}

// deleteExactly deletes obj in the version given. It returns no error if the object is gone.
func (w *Writer) deleteExactly(ctx context.Context, gvr schema.GroupVersionResource, obj *unstructured.Unstructured, propagation metav1.DeletionPropagation) error {
	ref := mark.RefOf(obj)
	version := obj.GetResourceVersion()
	err := w.Server.Resource(gvr, ref.Namespace).Delete(ctx, ref.Name, metav1.DeleteOptions{
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
