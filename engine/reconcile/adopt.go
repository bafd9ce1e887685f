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

// takeOver makes an object that has a child's name a child: one that this rule orphaned for this parent or, for a node
// with adopt: true, one that nobody controls. The content of a guarded object stays as it is.
func (c *childWriter) takeOver(ctx context.Context, kind restmapping.Kind, child *apply.Child, taken *refusal.NameConflictError, guarded bool) (apply.Result, error) {
	take, text := c.Writer.Return, "%s is a child of this object again, by rule %s"
	if !taken.Returns {
		if err := c.mayAdopt(taken); err != nil {
			return apply.Result{}, err
		}
		take, text = c.Writer.Adopt, "%s existed already and is now a child of this object, by rule %s"
	}
	if err := c.checkParent(ctx); err != nil {
		return apply.Result{}, err
	}
	result, err := take(ctx, kind.GVR, child, taken.Free, guarded)
	if err == nil {
		conditions.Emit(c.Recorder, c.op.Name, c.parent, corev1.EventTypeNormal, conditions.ReasonAdopted, text, taken.Ref, c.op.Name)
	}
	return result, err
}

// mayAdopt returns why an object is not adopted. An owner of the parent never is: each would then be deleted with the
// other.
func (c *childWriter) mayAdopt(taken *refusal.NameConflictError) error {
	if taken.Free == nil {
		return taken
	}
	for _, owner := range c.parent.GetOwnerReferences() {
		if owner.UID == taken.Free.GetUID() {
			return &refusal.NameConflictError{Ref: taken.Ref, OwnedBy: "others: it owns the parent"}
		}
	}
	if reason := privilege.OfObject(taken.Free); reason != "" && !c.op.Program.AllowPrivileged {
		return &privilege.Error{Object: taken.Ref.String(), Because: reason}
	}
	return nil
}
