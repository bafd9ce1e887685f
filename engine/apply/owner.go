package apply

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/apply/mark"
)

// refuse returns why live must not be written to, or nil.
func (c *Child) refuse(live *unstructured.Unstructured) error {
	ref := mark.RefOf(live)
	if err := c.options.Reserved.Check(live); err != nil {
		return err
	}
	switch {
	case live.GetDeletionTimestamp() != nil:
		return TerminatingNow(live)
	case c.options.Marks.Owns(live, c.Owner.RuleID, c.Owner.Parent.UID):
		return nil
	case c.isOrphanOfParent(live), c.inheritsFromGoneRule(live), c.takesRetained && c.isRetainedForOwner(live), c.isOursUnproven(live):
		return nil
	case c.options.Marks.EarlierParent(live, c.Owner.Parent):
		return &TerminatingError{Ref: ref, Reason: fmt.Sprintf(
			"was created for an earlier %s; waiting until it is deleted", c.Owner.Parent)}
	default:
		conflict := &NameConflictError{Ref: ref, OwnedBy: c.ownedBy(live)}
		switch {
		case ref.UID == c.Owner.Parent.UID:
			conflict.OwnedBy = "itself: it is the parent"
		case c.isRetainedForOwner(live):
			conflict.Free, conflict.Returns = live, true
		case c.mayAdopt(live):
			conflict.Free = live
		}
		return conflict
	}
}

// isOrphanOfParent reports whether live was a child of the same rule for an earlier object with the parent's name,
// and was orphaned when that was deleted. Nobody else will delete it, so it returns to the new parent.
func (c *Child) isOrphanOfParent(live *unstructured.Unstructured) bool {
	owner, ok := c.options.Marks.OwnerOf(live)
	return ok && owner.RuleID == c.Owner.RuleID && owner.IsFor(c.Owner.Parent) && len(live.GetOwnerReferences()) == 0
}

// inheritsFromGoneRule reports whether live was created for the same parent by a deleted rule, for example one that
// was renamed.
func (c *Child) inheritsFromGoneRule(live *unstructured.Unstructured) bool {
	owner, ok := c.options.Marks.OwnerOf(live)
	return ok && owner.Parent.UID == c.Owner.Parent.UID && c.options.IsGone(owner)
}

// isOursUnproven reports whether live is the child although no mark proves it any more, because somebody removed the
// mark or the key of its seal was lost. It then gets a new mark. This requires that it refers to the parent as its
// controller, or that managedFields show that our manager set its labels. That is enough to write to it, but never to
// delete it.
func (c *Child) isOursUnproven(live *unstructured.Unstructured) bool {
	if _, proven := c.options.Marks.OwnerOf(live); proven {
		return false
	}
	if c.options.Marks.IsSealedFor(live, c.Owner.RuleID, c.Owner.Parent.UID) {
		return true
	}
	rule, labelled := mark.MetadataString(live, "labels", mark.LabelRule)
	if labelled && rule != c.Owner.RuleID {
		return false
	}
	if controller := metav1.GetControllerOfNoCopy(live); controller != nil {
		return controller.UID == c.Owner.Parent.UID
	}
	uid, _ := mark.MetadataString(live, "labels", mark.LabelParentUID)
	return labelled && uid == string(c.Owner.Parent.UID) && c.wrote(live, fieldpath.MakePathOrDie("metadata", "labels", mark.LabelParentUID))
}

// wrote reports whether managedFields show that our manager wrote a path, or may have.
func (c *Child) wrote(live *unstructured.Unstructured, path fieldpath.Path) bool {
	return fieldset.Owned(live, func(e fieldset.Entry) bool { return e.Ours() || e.IsAncient() }).Has(path)
}

// MayMark reports whether an object is a child of the owner's parent by the owner's rule, or may be given such a
// mark. Its node does not matter.
func (w *Writer) MayMark(live *unstructured.Unstructured, owner mark.Owner) bool {
	return w.unfinished(Wanted{Owner: owner}, live).refuse(live) == nil
}

// Terminating says, for messages, what happens before an object that is being deleted is gone.
func Terminating(obj *unstructured.Unstructured) string {
	return "is being deleted; waiting until it is deleted" + finalizersOf(obj)
}

func finalizersOf(obj *unstructured.Unstructured) string {
	// The garbage collector's own finalizers only mean that dependents come first.
	finalizers := slices.DeleteFunc(obj.GetFinalizers(), func(name string) bool {
		return name == metav1.FinalizerDeleteDependents || name == metav1.FinalizerOrphanDependents
	})
	if len(finalizers) == 0 {
		return ""
	}
	return ", which is blocked by its finalizers: " + strings.Join(finalizers, ", ")
}

// ownedBy describes whose an object is, for messages.
func (c *Child) ownedBy(obj *unstructured.Unstructured) string {
	if owner, ok := c.options.Marks.OwnerOf(obj); ok {
		whose := "rule " + cmp.Or(owner.Rule, c.options.NameOf(owner.RuleID), owner.RuleID)
		if owner.Parent.Name != "" {
			whose += " for " + owner.Parent.String()
		}
		return whose
	}
	if controller := metav1.GetControllerOfNoCopy(obj); controller != nil {
		return fmt.Sprintf("%s %s, its controller", controller.Kind, controller.Name)
	}
	return UnclaimedBy(obj)
}

// UnclaimedBy describes, for messages, an object that neither a controller nor a mark claims, by its field managers.
func UnclaimedBy(obj *unstructured.Unstructured) string {
	var managers []string
	for _, e := range fieldset.EntriesOf(obj) {
		if !slices.Contains(managers, e.Manager) {
			managers = append(managers, e.Manager)
		}
	}
	if len(managers) == 0 {
		return "nobody, as it has neither a controller nor a mark"
	}
	return "others (field managers: " + strings.Join(managers, ", ") + ")"
}
