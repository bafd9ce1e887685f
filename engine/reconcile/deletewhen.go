package reconcile

import (
	"context"
	"fmt"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/apply/refusal"
	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/rules/program"
)

// deleteParent deletes the parent if deleteWhen is true, and reports whether it did. It deletes exactly the version
// that was evaluated; a parent that has changed since is evaluated again.
func (d *deleter) deleteParent(ctx context.Context) (done bool, problems []conditions.Problem) {
	if d.result.Deletion != program.DeletionOn || d.reader.incomplete || d.reader.unseen || d.isSuspended() || !d.mayPrune(d.unrendered()) {
		return false, nil
	}
	defer d.Begin(d.parent)()
	uid, version, background := d.parent.GetUID(), d.parent.GetResourceVersion(), metav1.DeletePropagationBackground
	err := d.Client.Resource(d.op.Parent.GVR).Namespace(d.parent.GetNamespace()).Delete(ctx, d.parent.GetName(), metav1.DeleteOptions{
		Preconditions:     &metav1.Preconditions{UID: &uid, ResourceVersion: &version},
		PropagationPolicy: &background,
	})
	ref := mark.RefOf(d.parent)
	switch {
	case apierrors.IsNotFound(err):
		return true, nil
	case apierrors.IsConflict(err):
		return false, []conditions.Problem{conditions.OfWrite("deleteWhen", &refusal.ReplacedError{Ref: ref, Err: err})}
	case err != nil:
		return false, []conditions.Problem{conditions.OfWrite("deleteWhen", fmt.Errorf("delete %s: %w", ref, err))}
	}
	d.deleted(d.parent)
	logr.FromContextOrDiscard(ctx).V(2).Info("deleted the parent", "uid", uid)
	conditions.Emit(d.Recorder, d.op.Name, d.parent, corev1.EventTypeNormal, conditions.ReasonDeleted, "it is deleted, because deleteWhen of rule %s is true", d.op.Name)
	return true, nil
}
