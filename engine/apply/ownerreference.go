package apply

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/retry"

	"kanon.dev/kanon/engine/apply/refusal"
)

// applyKeepingReference is apply for an existing child. If the ownerReference is safe without being applied, it is
// omitted. Otherwise the apply includes it and is limited to the version seen. If the child has changed since, it is
// read again, and applied if it still has its reference. If it turns out to have none, the error is a
// *refusal.OwnerReferenceLostError.
func (w *Writer) applyKeepingReference(ctx context.Context, gvr schema.GroupVersionResource, child *Child, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if metav1.GetControllerOfNoCopy(child.Object) == nil {
		return w.apply(ctx, gvr, child, live, child.onlyVersion(live))
	}
	if child.OwnsReferenceByUpdate(live) {
		partial := *child
		partial.omitsReference = true
		answer, err := w.apply(ctx, gvr, &partial, live, child.onlyVersion(live))
		if err == nil && child.RestoresController(answer) {
			return nil, &refusal.OwnerReferenceLostError{Live: answer}
		}
		return answer, err
	}
	var answer *unstructured.Unstructured
	newest := live
	err := retry.RetryOnConflict(conflictBackoff(), func() (err error) {
		if newest == nil {
			if newest, err = w.rereadKeepingReference(ctx, gvr, child, live); err != nil {
				return err
			}
			if answer = newest; w.InSync(ctx, child, newest) {
				return nil
			}
			if err = child.generatedConflict(newest); err != nil {
				return err
			}
		}
		answer, err = w.applyOnce(ctx, gvr, child, newest, newest.GetResourceVersion())
		if err != nil && !apierrors.IsConflict(err) {
			return w.applyError(ctx, gvr, child, newest, err)
		}
		newest = nil
		return err
	})
	if apierrors.IsConflict(err) {
		return nil, refusal.OfObject("apply", child.Object, err)
	}
	return answer, err
}

// rereadKeepingReference reads again, before a write, a child that was seen as live.
func (w *Writer) rereadKeepingReference(ctx context.Context, gvr schema.GroupVersionResource, child *Child, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	newest, err := w.Server.Reread(ctx, gvr, live)
	if err != nil {
		return nil, err
	}
	if err := child.refuse(newest); err != nil {
		return nil, err
	}
	if child.LosesController(live, newest) {
		return nil, &refusal.OwnerReferenceLostError{Live: newest}
	}
	return newest, nil
}
