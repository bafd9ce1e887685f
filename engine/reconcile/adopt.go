package reconcile

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"kanon.dev/kanon/engine/apply"
	"kanon.dev/kanon/engine/apply/refusal"
	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/kinds/restmapping"
	"kanon.dev/kanon/rules/privilege"
)

// adopt takes over an object that has a child's name and that nobody controls, for a node with adopt: true. It never
// adopts an owner of the parent: each would then be deleted with the other. The content of a guarded object stays as it
// is.
func (c *childWriter) adopt(ctx context.Context, kind restmapping.Kind, child *apply.Child, taken *refusal.NameConflictError, guarded bool) (apply.Result, error) {
	if taken.Free == nil {
		return apply.Result{}, taken
	}
	for _, owner := range c.parent.GetOwnerReferences() {
		if owner.UID == taken.Free.GetUID() {
			return apply.Result{}, &refusal.NameConflictError{Ref: taken.Ref, OwnedBy: "others: it owns the parent"}
		}
	}
	if reason := privilege.OfObject(taken.Free); reason != "" && !c.op.Program.AllowPrivileged {
		return apply.Result{}, &privilege.Error{Object: taken.Ref.String(), Because: reason}
	}
	if err := c.checkParent(ctx); err != nil {
		return apply.Result{}, err
	}
	result, err := c.Writer.Adopt(ctx, kind.GVR, child, taken.Free, guarded)
	if err == nil {
		conditions.Emit(c.Recorder, c.op.Name, c.parent, corev1.EventTypeNormal, conditions.ReasonAdopted,
			"%s existed already and is now a child of this object, by rule %s", taken.Ref, c.op.Name)
	}
	return result, err
}

// readopt makes an object a child again that this rule orphaned for this parent.
func (c *childWriter) readopt(ctx context.Context, kind restmapping.Kind, child *apply.Child, taken *refusal.NameConflictError, guarded bool) (apply.Result, error) {
	if err := c.checkParent(ctx); err != nil {
		return apply.Result{}, err
	}
	result, err := c.Writer.Return(ctx, kind.GVR, child, taken.Free, guarded)
	if err == nil {
		conditions.Emit(c.Recorder, c.op.Name, c.parent, corev1.EventTypeNormal, conditions.ReasonAdopted,
			"%s is a child of this object again, by rule %s", taken.Ref, c.op.Name)
	}
	return result, err
}
