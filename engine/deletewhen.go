package engine

import (
	"context"
	"fmt"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kanon.dev/kanon/engine/apply"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/rules"
)

// deleteParent deletes the parent where the rule says so, and tells whether that was
// done: exactly the object that was evaluated, in the version that it had. One that
// has changed meanwhile is evaluated again.
func (p *pass) deleteParent(ctx context.Context) (done bool) {
	if p.outcome.Deletion != rules.DeletionOn || p.reader.incomplete || p.reader.unseen || p.isSuspended() || !p.deleter.mayPrune(p.deleter.unrendered()) {
		return false
	}
	defer p.begin(p.parent)()
	uid, version, background := p.parent.GetUID(), p.parent.GetResourceVersion(), metav1.DeletePropagationBackground
	err := p.client.Resource(p.op.Parent.GVR).Namespace(p.parent.GetNamespace()).Delete(ctx, p.parent.GetName(), metav1.DeleteOptions{
		Preconditions:     &metav1.Preconditions{UID: &uid, ResourceVersion: &version},
		PropagationPolicy: &background,
	})
	ref := mark.RefOf(p.parent)
	switch {
	case apierrors.IsNotFound(err):
		return true
	case apierrors.IsConflict(err):
		p.add(conditions.OfWrite("", &apply.ReplacedError{Ref: ref, Err: err}))
		return false
	case err != nil:
		problem := conditions.OfWrite("", fmt.Errorf("delete %s: %w", ref, err))
		problem.Subject = "deleteWhen"
		p.add(problem)
		return false
	}
	p.deleted(p.parent)
	logr.FromContextOrDiscard(ctx).V(2).Info("deleted the parent", "uid", uid)
	p.recorder.Eventf(p.parent, corev1.EventTypeNormal, conditions.ReasonDeleted, "it is deleted, because deleteWhen of rule %s is true", p.op.Name)
	return true
}
