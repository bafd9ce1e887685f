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

// conflictBackoff bounds the writes that conflict with other writers: five in half a second, which outlasts what a
// built-in controller writes after a change. Who writes more often than that has the caller try again later.
func conflictBackoff() wait.Backoff {
	return wait.Backoff{Steps: 5, Duration: 10 * time.Millisecond, Factor: 3, Jitter: 0.2}
}

// claimFields prepares an apply that may drop fields. An apply removes a field that left the template only when the previous
// *apply* had it and nobody else owns it. But the POST that created the child left an Update entry of ours, which owns
// those fields too and would keep them. So when the set of paths changes, what our Update entry holds moves to our Apply
// entry, in managedFields itself, guarded by the resourceVersion; only the ownerReference stays, see applyKeepingReference. What the policy ignores does not move, and leaves our
// Apply entry: nobody else may have it, and the apply would remove it.
//
// The API server folds the oldest Update entries into one of the manager ancient-changes when there are more than ten;
// ours may be among them. Which of its paths were ours is not recorded. Those that our Apply entry has (so they have the
// value that we wrote) and that are no longer rendered are taken out of it; all others stay as they are, and a field
// that left the template may then remain.
//
// The result is the newest known state of the object, to which the apply goes.
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

// moveOwnership rewrites managedFields of the object as it is now, once, and returns it. A conflict is returned as it is.
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
