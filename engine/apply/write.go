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

// create makes a new child. An object that has the name is read once, live, and given to exists.
//
// A POST does not make us owner of what Go's types cannot tell from nothing: a false, zero or empty text that is left out
// when it is stored, and an empty struct that exists anyway (NetworkPolicy's podSelector: {}). Others could change it
// unseen. Where the answer shows such a path, one apply follows, which does record it.
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
		return Result{}, &refusal.ReplacedError{Ref: child.Ref, Err: getErr} // it went in between; the next try makes it
	}
	if getErr != nil {
		return Result{}, fmt.Errorf("read %s, which exists already: %w", child.Ref, getErr)
	}
	if child.refuse(live) == nil && child.RestoresController(live) {
		return Result{}, &refusal.OwnerReferenceLostError{Live: live}
	}
	return exists(ctx, gvr, child, live)
}

// post makes a new child; the error says AlreadyExists where the name exists.
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

// change writes what is not as it should be: values alone as amend does, anything else by an apply.
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

// apply is one forced server-side apply to exactly the object seen, and with version only to that resourceVersion of it.
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

// applyBody is a child's content with the UID of the object that is meant: without it an apply would create an object that is
// gone, or merge over another one of the same name.
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

// applyError finds out what an apply's refusal means. A UID that does not match is answered with 422 on metadata.uid
// when another object has the name, and with 409 when there is none; but 409 and 404 have other reasons too, so these
// are followed by one read.
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
