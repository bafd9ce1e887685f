package apply

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"

	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/apply/refusal"
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
// see applyKeepingReference. Ignored paths do not move, and are removed from our Apply entry: if nobody else owns
// them, the apply would remove the fields.
//
// The API server folds the oldest Update entries into one of the manager ancient-changes if there are more than ten.
// Ours may be among them, and which of its paths were ours is not recorded. Paths that our Apply entry has (so they
// have the value that we wrote) and that are no longer rendered are removed from it. All others stay as they are, so
// a field that left the template may remain.
//
// It returns the newest known state of the object, which is to be applied to.
func (w *Writer) claimFields(ctx context.Context, gvr schema.GroupVersionResource, child *Child, live *unstructured.Unstructured) (newest *unstructured.Unstructured, err error) {
	last, ok := mark.Recorded(live)
	if entries, err := child.EntriesToClaim(live, ok && last.Paths == child.fingerprint.Paths); err != nil || entries == nil {
		return live, err
	}
	err = retry.RetryOnConflict(conflictBackoff(), func() error {
		newest, err = w.moveOwnership(ctx, gvr, child, live)
		return err
	})
	if apierrors.IsConflict(err) {
		return nil, fmt.Errorf("rewrite managedFields of %s: %w", child.Ref, err)
	}
	return newest, err
}

// moveOwnership rewrites managedFields of the object once, as it is now, and returns it. A conflict is returned as it
// is.
func (w *Writer) moveOwnership(ctx context.Context, gvr schema.GroupVersionResource, child *Child, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	fresh, err := w.Server.Reread(ctx, gvr, live)
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
	moved, err := w.Server.PatchSteps(ctx, gvr, child.Ref, metav1.PatchOptions{FieldManager: fieldset.Manager}, fieldset.ManagedFieldsPatch(fresh, entries))
	switch {
	case err == nil:
		logr.FromContextOrDiscard(ctx).V(2).Info("moved ownership to the apply entry", "child", child.Ref)
		return moved, nil
	case apierrors.IsConflict(err):
		return nil, err
	case apierrors.IsNotFound(err):
		return nil, &refusal.ReplacedError{Ref: mark.RefOf(live), Err: err}
	default:
		return nil, fmt.Errorf("rewrite managedFields of %s: %w", child.Ref, err)
	}
}
