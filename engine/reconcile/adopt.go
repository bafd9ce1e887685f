package reconcile

import (
	"context"
	"strings"

	"kanon.dev/kanon/engine/apply"
	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/rules/program"
)

// takeOver makes an object that has a child's name a child: one that this rule orphaned for this parent or, for a node
// with adopt: true, one that nobody controls. The content of a guarded object stays as it is.
func (p *pass) takeOver(ctx context.Context, child *apply.Child, taken *apply.NameConflictError, w *childWrite) (apply.Result, error) {
	take, text, why := p.r.Writer.Return, "%s is a child of this object again, by rule %s", "it becomes a child again"
	if !taken.Returns {
		if err := p.mayAdopt(taken); err != nil {
			return apply.Result{}, err
		}
		take, text = p.r.Writer.Adopt, "%s existed already and is now a child of this object, by rule %s"
		why = "it exists already and becomes a child"
	}
	if err := p.checkParent(ctx); err != nil {
		return apply.Result{}, err
	}
	result, err := take(ctx, child, taken.Free, w.guarded)
	if err != nil {
		return result, err
	}
	if len(result.TakenFrom) > 0 {
		fields := "; the fields that the rule renders no longer belong to " + strings.Join(result.TakenFrom, ", ")
		text, why = text+fields, why+fields
	}
	w.adopted = why
	p.emit(conditions.ReasonAdopted, text, taken.Ref, p.op.Name)
	return result, nil
}

// mayAdopt returns why an object is not adopted. An owner of the parent never is: each would then be deleted with the
// other.
func (p *pass) mayAdopt(taken *apply.NameConflictError) error {
	if taken.Free == nil {
		return taken
	}
	for _, owner := range p.parent.GetOwnerReferences() {
		if owner.UID == taken.Free.GetUID() {
			return &apply.NameConflictError{Ref: taken.Ref, OwnedBy: "others: it owns the parent"}
		}
	}
	if reason := program.PrivilegeOfObject(taken.Free); reason != "" && !p.op.Program.AllowPrivileged {
		return &program.PrivilegeError{Object: taken.Ref.String(), Because: reason}
	}
	return nil
}
