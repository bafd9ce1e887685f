package apply

import (
	"context"
	"fmt"
	"slices"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/apply/mark"
)

// finalizerAttempts bounds the attempts to remove a finalizer that conflict with other writers.
const finalizerAttempts = 3

// Finalizer is a finalizer on an object.
type Finalizer struct {
	// GVR is the resource of the object.
	GVR schema.GroupVersionResource
	// Object is the newest known state of the object; read-only.
	Object *unstructured.Unstructured
	// Name is the finalizer.
	Name string
	// Manager is the field manager that adds the finalizer, and nothing else.
	Manager string
}

// AddFinalizer adds a finalizer by server-side apply to exactly the object seen; with exact, only to the version
// seen. It returns the resulting object. If the finalizer exists, it sends no request.
//
// The error is a *ReplacedError if the object is gone, was replaced, is being deleted, or with exact has
// changed.
func (w *Writer) AddFinalizer(ctx context.Context, f Finalizer, exact bool) (*unstructured.Unstructured, error) {
	if slices.Contains(f.Object.GetFinalizers(), f.Name) {
		return f.Object, nil
	}
	ref := mark.RefOf(f.Object)
	wanted := &unstructured.Unstructured{Object: map[string]any{}}
	wanted.SetGroupVersionKind(f.Object.GroupVersionKind())
	wanted.SetNamespace(ref.Namespace)
	wanted.SetName(ref.Name)
	wanted.SetUID(ref.UID)
	wanted.SetFinalizers([]string{f.Name})
	if exact {
		wanted.SetResourceVersion(f.Object.GetResourceVersion())
	}
	answer, err := w.Server.Apply(ctx, f.GVR, ref, Strict(f.Manager, true), wanted.Object)
	switch {
	case err == nil:
		logr.FromContextOrDiscard(ctx).V(2).Info("added the finalizer", "parent", ref.String())
		return answer, nil
	case IsReplaced(err), NoNewFinalizers(err):
		return nil, &ReplacedError{Ref: ref, Err: err}
	default:
		return nil, fmt.Errorf("add a finalizer to %s: %w", ref, err)
	}
}

// RemoveFinalizer removes a finalizer, whoever owns it, in exactly the version seen. If the object has changed, it is
// read again. It returns the resulting object; nil if the object is gone or was replaced, and so has no such
// finalizer.
func (w *Writer) RemoveFinalizer(ctx context.Context, f Finalizer) (*unstructured.Unstructured, error) {
	ref := mark.RefOf(f.Object)
	// A patch for an object that was replaced may not fit the new one at all.
	again := func(err error) bool { return apierrors.IsConflict(err) || Permanent(err) }
	return w.exactly(ctx, f.GVR, f.Object, finalizerAttempts, again, func(live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		at := slices.Index(live.GetFinalizers(), f.Name)
		if at < 0 {
			return live, nil
		}
		answer, err := w.Server.PatchSteps(ctx, f.GVR, ref, metav1.PatchOptions{FieldManager: f.Manager}, append(
			fieldset.ExactlyThis(live), fieldset.Operation{Op: "remove", Path: fmt.Sprintf("/metadata/finalizers/%d", at)},
		))
		if err != nil {
			return nil, fmt.Errorf("remove the finalizer of %s: %w", ref, err)
		}
		logr.FromContextOrDiscard(ctx).V(2).Info("removed the finalizer", "parent", ref.String())
		return answer, nil
	})
}

// Annotate sets an annotation of exactly the object seen, and returns the resulting object.
//
// The error is a *ReplacedError if it is gone or was replaced.
func (w *Writer) Annotate(ctx context.Context, f Finalizer, key, value string) (*unstructured.Unstructured, error) {
	ref := mark.RefOf(f.Object)
	answer, err := w.Server.PatchMetadata(ctx, f.GVR, ref, f.Manager, map[string]any{"uid": ref.UID, "annotations": map[string]any{key: value}})
	switch {
	case err == nil:
		return answer, nil
	case IsReplaced(err):
		return nil, &ReplacedError{Ref: ref, Err: err}
	default:
		return nil, fmt.Errorf("annotate %s: %w", ref, err)
	}
}
