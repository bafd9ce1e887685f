package apply

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"

	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/apply/mark"
)

// conflictBackoff bounds the retries of writes that conflict with other writers: five attempts in half a second,
// which outlasts the writes of a built-in controller after a change. After that, the caller retries later.
func conflictBackoff() wait.Backoff {
	return wait.Backoff{Steps: 5, Duration: 10 * time.Millisecond, Factor: 3, Jitter: 0.2}
}

// claimFields prepares an apply that may drop fields. An apply removes a field that left the template only if the
// previous *apply* had it and nobody else owns it. But the POST that created the child left an Update entry of ours,
// which owns those fields too and would keep them. So if the set of paths changes, the paths of our Update entry are
// moved to our Apply entry, in managedFields itself, at exactly the resourceVersion. Only the ownerReference stays;
// see apply. Ignored paths do not move, and are removed from our Apply entry: if nobody else owns them, the apply would
// remove the fields.
//
// The API server folds the oldest Update entries into one of the manager ancient-changes if there are more than ten.
// Ours may be among them, and which of its paths were ours is not recorded. Paths that our Apply entry has (so they
// have the value that we wrote) and that are no longer rendered are removed from it. All others stay as they are, so
// a field that left the template may remain.
//
// It returns the newest known state of the object, which is to be applied to.
func (w *Writer) claimFields(ctx context.Context, child *Child, live *unstructured.Unstructured) (newest *unstructured.Unstructured, err error) {
	last, ok := mark.Recorded(live)
	if entries, err := child.EntriesToClaim(live, ok && last.Paths == child.fingerprint.Paths); err != nil || entries == nil {
		return live, err
	}
	err = retry.RetryOnConflict(conflictBackoff(), func() error {
		newest, err = w.moveOwnership(ctx, child, live)
		return err
	})
	if apierrors.IsConflict(err) {
		return nil, fmt.Errorf("rewrite managedFields of %s: %w", child.Ref, err)
	}
	return newest, err
}

// moveOwnership rewrites managedFields of the object once, as it is now, and returns it. A conflict is returned as it
// is.
func (w *Writer) moveOwnership(ctx context.Context, child *Child, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	fresh, err := w.Server.Reread(ctx, child.GVR, live)
	if err != nil {
		return nil, err
	}
	if err := child.refuse(fresh); err != nil {
		return nil, err
	}
	entries, err := child.EntriesForApply(fresh)
	if err != nil || entries == nil {
		return fresh, err
	}
	moved, err := w.Server.PatchSteps(ctx, child.GVR, child.Ref, metav1.PatchOptions{FieldManager: fieldset.Manager}, fieldset.ManagedFieldsPatch(fresh, entries))
	switch {
	case err == nil:
		logr.FromContextOrDiscard(ctx).V(2).Info("moved ownership to the apply entry", "child", child.Ref)
		return moved, nil
	case apierrors.IsConflict(err):
		return nil, err
	case apierrors.IsNotFound(err):
		return nil, &ReplacedError{Ref: mark.RefOf(live), Err: err}
	default:
		return nil, fmt.Errorf("rewrite managedFields of %s: %w", child.Ref, err)
	}
}

// apply applies an existing child. If its ownerReference is safe without being applied, it is omitted. Otherwise the
// apply includes it and is limited to the version seen. If the child has changed since, it is read again, and applied
// if it still has its reference. If it turns out to have none, the error is an *OwnerReferenceLostError.
func (w *Writer) apply(ctx context.Context, child *Child, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	only := applyOptions{version: child.onlyVersion(live)}
	if metav1.GetControllerOfNoCopy(child.Object) == nil {
		return w.applyExactly(ctx, child, live, only)
	}
	if child.OwnsReferenceByUpdate(live) {
		only.omitsReference = true
		answer, err := w.applyExactly(ctx, child, live, only)
		if err == nil && child.RestoresController(answer) {
			return nil, &OwnerReferenceLostError{Live: answer}
		}
		return answer, err
	}
	var answer *unstructured.Unstructured
	newest := live
	err := retry.RetryOnConflict(conflictBackoff(), func() (err error) {
		if newest == nil {
			if newest, err = w.rereadKeepingReference(ctx, child, live); err != nil {
				return err
			}
			if answer = newest; w.Compare(ctx, Wanted{Child: child}, SeenAs(newest)) == InSync {
				return nil
			}
			if err = child.generatedConflict(newest); err != nil {
				return err
			}
		}
		answer, err = w.sendApply(ctx, child, newest, applyOptions{version: newest.GetResourceVersion()})
		if err != nil && !apierrors.IsConflict(err) {
			return w.applyError(ctx, child, newest, err)
		}
		newest = nil
		return err
	})
	if apierrors.IsConflict(err) {
		return nil, OfObject("apply", child.Object, err)
	}
	return answer, err
}

// rereadKeepingReference reads again, before a write, a child that was seen as live.
func (w *Writer) rereadKeepingReference(ctx context.Context, child *Child, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	newest, err := w.Server.Reread(ctx, child.GVR, live)
	if err != nil {
		return nil, err
	}
	if err := child.refuse(newest); err != nil {
		return nil, err
	}
	if child.LosesController(live, newest) {
		return nil, &OwnerReferenceLostError{Live: newest}
	}
	return newest, nil
}

// applyOptions restrict an apply.
type applyOptions struct {
	// version is the only resourceVersion that it applies to; empty for any.
	version string
	// omitsReference leaves the ownerReference as it is.
	omitsReference bool
}

// applyExactly sends one forced server-side apply to exactly the object seen.
func (w *Writer) applyExactly(ctx context.Context, child *Child, live *unstructured.Unstructured, only applyOptions) (*unstructured.Unstructured, error) {
	answer, err := w.sendApply(ctx, child, live, only)
	if err != nil {
		return nil, w.applyError(ctx, child, live, err)
	}
	return answer, nil
}

// sendApply is applyExactly with the API server's own error. The content has the UID of the intended object. Without
// it, an apply would create an object that is gone, or merge over another one of the same name.
func (w *Writer) sendApply(ctx context.Context, child *Child, live *unstructured.Unstructured, only applyOptions) (*unstructured.Unstructured, error) {
	content, err := w.content(ctx, child, live)
	if err != nil {
		return nil, err
	}
	content = maps.Clone(content)
	metadata := maps.Clone(mark.EnsureMap(content, "metadata"))
	content["metadata"] = metadata
	metadata["uid"] = string(live.GetUID())
	if only.version != "" {
		metadata["resourceVersion"] = only.version
	}
	if only.omitsReference {
		delete(metadata, "ownerReferences")
	}
	answer, err := w.Server.Apply(ctx, child.GVR, child.Ref, Strict(fieldset.Manager, true), content)
	if err == nil {
		logr.FromContextOrDiscard(ctx).V(2).Info("applied", "child", child.Ref, "uid", answer.GetUID())
	}
	return answer, err
}

// content returns what is applied to live, see ContentFor. If live lacks the parent of an ignored field, the object
// is read again.
func (w *Writer) content(ctx context.Context, child *Child, live *unstructured.Unstructured) (map[string]any, error) {
	content, missing, err := child.ContentFor(live)
	if err != nil || !missing {
		return content, err
	}
	fresh, err := w.Server.Reread(ctx, child.GVR, live)
	if err != nil {
		return nil, err
	}
	content, _, err = child.ContentFor(fresh)
	return content, err
}

// applyError interprets the refusal of an apply. To a UID that does not match, the API server answers with a 422 on
// metadata.uid if another object has the name, and with a 409 if there is none. Because 409 and 404 have other causes
// too, one read follows them.
func (w *Writer) applyError(ctx context.Context, child *Child, live *unstructured.Unstructured, err error) error {
	if WrongUID(err) {
		return &ReplacedError{Ref: mark.RefOf(live), Err: err}
	}
	if Immutable(err) {
		return &InvalidError{Ref: child.Ref, Err: &ImmutableError{Live: live, Err: err}}
	}
	if !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
		return OfObject("apply", child.Object, err)
	}
	if _, getErr := w.Server.Reread(ctx, child.GVR, live); getErr != nil {
		return getErr
	}
	return OfObject("apply", child.Object, err)
}
