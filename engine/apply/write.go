package apply

import (
	"context"
	"fmt"
	"maps"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/apply/refusal"
	"kanon.dev/kanon/engine/apply/server"
	"kanon.dev/kanon/wire"
)

// create creates a new child. If the name is taken, the object is read once from the API server and passed to exists.
//
// A POST does not make us the owner of values that Go's types do not distinguish from a missing field: a false, a
// zero or an empty string that is dropped when stored, and an empty struct that exists anyway (NetworkPolicy's
// podSelector: {}). Others could change these unnoticed. If the answer shows such a path, one apply follows, which
// does record it.
func (w *Writer) create(
	ctx context.Context, gvr schema.GroupVersionResource, child *Child,
	exists func(context.Context, schema.GroupVersionResource, *Child, *unstructured.Unstructured) (Result, error),
) (Result, error) {
	result, err := w.post(ctx, gvr, child)
	if !apierrors.IsAlreadyExists(err) {
		return result, err
	}
	live, getErr := w.Server.Resource(gvr, child.Ref.Namespace).Get(ctx, child.Ref.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(getErr) {
		return Result{}, &refusal.ReplacedError{Ref: child.Ref, Err: getErr} // it was deleted in between; the retry creates the child
	}
	if getErr != nil {
		return Result{}, fmt.Errorf("read %s, which exists already: %w", child.Ref, getErr)
	}
	if child.refuse(live) == nil && child.RestoresController(live) {
		return Result{}, &refusal.OwnerReferenceLostError{Live: live}
	}
	return exists(ctx, gvr, child, live)
}

// post creates a new child; the error is an AlreadyExists if the name is taken.
func (w *Writer) post(ctx context.Context, gvr schema.GroupVersionResource, child *Child) (Result, error) {
	answer, err := w.Server.Resource(gvr, child.Ref.Namespace).Create(ctx, child.ForCreation(), metav1.CreateOptions{
		FieldManager:    fieldset.Manager,
		FieldValidation: metav1.FieldValidationStrict,
	})
	if err != nil {
		return Result{}, refusal.OfObject("create", child.Object, err)
	}
	logr.FromContextOrDiscard(ctx).V(2).Info("created", "child", child.Ref, "uid", answer.GetUID())
	if !child.Covered(answer) {
		if answer, err = w.applyKeepingReference(ctx, gvr, child, answer); err != nil {
			return Result{}, err
		}
	}
	w.remember(child, answer)
	return Result{Live: answer, Action: ActionCreated}, nil
}

// update brings an existing object up to date, if it is ours.
func (w *Writer) update(ctx context.Context, gvr schema.GroupVersionResource, child *Child, live *unstructured.Unstructured) (Result, error) {
	if err := child.refuse(live); err != nil {
		return Result{}, err
	}
	if w.InSync(ctx, child, live) {
		return Result{Live: live, Action: ActionNone}, nil
	}
	answer, err := w.change(ctx, gvr, child, live)
	if err != nil {
		return Result{}, err
	}
	w.remember(child, answer)
	result := Result{Live: answer, Action: ActionApplied}
	if last, ok := mark.Recorded(live); !ok || last.Value == child.fingerprint.Value {
		result.Lost = child.Lost(live)
	}
	return result, nil
}

// change writes what differs: by amend if only values differ, else by an apply.
func (w *Writer) change(ctx context.Context, gvr schema.GroupVersionResource, child *Child, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	marked, err := w.replaceFormerMark(ctx, gvr, child, live)
	if err != nil {
		return nil, err
	}
	if marked != live && w.InSync(ctx, child, marked) {
		return marked, nil
	}
	if err := child.generatedConflict(marked); err != nil {
		return nil, err
	}
	newest, done, err := w.amend(ctx, gvr, child, marked)
	if err == nil && !done {
		newest, err = w.claimFields(ctx, gvr, child, newest)
	}
	if done || err != nil {
		return newest, err
	}
	if err := child.generatedConflict(newest); err != nil {
		return nil, err
	}
	if child.LosesController(live, newest) {
		return nil, &refusal.OwnerReferenceLostError{Live: newest}
	}
	return w.applyKeepingReference(ctx, gvr, child, newest)
}

// apply sends one forced server-side apply to exactly the object seen. With a version, it applies only to that
// resourceVersion.
func (w *Writer) apply(ctx context.Context, gvr schema.GroupVersionResource, child *Child, live *unstructured.Unstructured, version string) (*unstructured.Unstructured, error) {
	answer, err := w.applyOnce(ctx, gvr, child, live, version)
	if err != nil {
		return nil, w.applyError(ctx, gvr, child, live, err)
	}
	return answer, nil
}

// applyOnce is apply with the API server's own error.
func (w *Writer) applyOnce(ctx context.Context, gvr schema.GroupVersionResource, child *Child, live *unstructured.Unstructured, version string) (*unstructured.Unstructured, error) {
	content, err := w.content(ctx, gvr, child, live)
	if err != nil {
		return nil, err
	}
	body, err := applyBody(child, content, live.GetUID(), version)
	if err != nil {
		return nil, err
	}
	answer, err := w.Server.Resource(gvr, child.Ref.Namespace).Patch(ctx, child.Ref.Name, types.ApplyPatchType, body, server.Strict(fieldset.Manager, true))
	if err != nil {
		return nil, err
	}
	logr.FromContextOrDiscard(ctx).V(2).Info("applied", "child", child.Ref, "uid", answer.GetUID())
	return answer, nil
}

// applyBody returns a child's content with the UID of the intended object. Without it, an apply would create an
// object that is gone, or merge over another one of the same name.
func applyBody(child *Child, content map[string]any, uid types.UID, version string) ([]byte, error) {
	content = maps.Clone(content)
	metadata := maps.Clone(mark.EnsureMap(content, "metadata"))
	metadata["uid"] = string(uid)
	if version != "" {
		metadata["resourceVersion"] = version
	}
	if child.omitsReference {
		delete(metadata, "ownerReferences")
	}
	content["metadata"] = metadata
	body, err := wire.AppendJSON(nil, content)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", child.Ref, err)
	}
	return body, nil
}

// applyError interprets the refusal of an apply. To a UID that does not match, the API server answers with a 422 on
// metadata.uid if another object has the name, and with a 409 if there is none. Because 409 and 404 have other causes
// too, one read follows them.
func (w *Writer) applyError(ctx context.Context, gvr schema.GroupVersionResource, child *Child, live *unstructured.Unstructured, err error) error {
	if refusal.WrongUID(err) {
		return &refusal.ReplacedError{Ref: mark.RefOf(live), Err: err}
	}
	if refusal.Immutable(err) {
		return &refusal.InvalidError{Ref: child.Ref, Err: &refusal.ImmutableError{Live: live, Err: err}}
	}
	if !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
		return refusal.OfObject("apply", child.Object, err)
	}
	if _, getErr := w.Server.Reread(ctx, gvr, live); getErr != nil {
		return getErr
	}
	return refusal.OfObject("apply", child.Object, err)
}
