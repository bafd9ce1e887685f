package preview

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/engine/apply"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/apply/refusal"
	"kanon.dev/kanon/engine/identity"
)

// tie is the ownership of an object, read from its mark and its owner references. Without a cluster there is no key to
// verify marks, so they are trusted.
type tie struct {
	// ours is true for a child that the rule created for the parent.
	ours bool
	// node is the child of the rule that the mark names, if the object has a mark.
	node string
	// returns is true for an orphan of this rule and this parent, which they may take back.
	returns bool
	// claimed is true if somebody else owns the object; by names the owner.
	claimed bool
	by      string
}

// tieOf reads the ownership of an object.
func (w *world) tieOf(object *unstructured.Unstructured) tie {
	owner, marked := mark.ReadOwner(object)
	rule := object.GetLabels()[mark.LabelRule]
	foreignRule := rule != "" && w.ruleID != "" && rule != w.ruleID
	switch {
	case foreignRule && marked:
		return tie{claimed: true, by: ruleText(rule, owner)}
	case foreignRule:
		return tie{claimed: true, by: "rule " + rule}
	case marked && w.isParent(owner):
		return tie{ours: true, node: owner.Node}
	case marked && owner.IsFor(w.parent) && len(object.GetOwnerReferences()) == 0:
		return tie{returns: true} // orphaned by an earlier parent of this name
	case marked:
		return tie{claimed: true, by: ruleText(rule, owner)}
	}
	controller := metav1.GetControllerOfNoCopy(object)
	switch {
	case controller != nil && w.isController(controller, object.GetNamespace()):
		return tie{ours: true}
	case controller != nil:
		return tie{claimed: true, by: controller.Kind + " " + controller.Name + ", its controller"}
	}
	retained, ok := object.GetAnnotations()[mark.AnnotationRetained]
	return tie{returns: ok && retained == w.retainedBy, by: apply.UnclaimedBy(object)}
}

// isParent reports whether a mark names the parent. If the parent has a UID, the UID decides.
func (w *world) isParent(owner mark.Owner) bool {
	if w.parent.UID != "" {
		return owner.Parent.UID == w.parent.UID
	}
	return owner.IsFor(w.parent)
}

// isController reports whether an owner reference of an object in a namespace names the parent. Handwritten files may
// leave out UIDs.
func (w *world) isController(reference *metav1.OwnerReference, namespace string) bool {
	gv, err := schema.ParseGroupVersion(reference.APIVersion)
	return err == nil && gv.Group == w.parent.Group && reference.Kind == w.parent.Kind && reference.Name == w.parent.Name &&
		(w.parent.Namespace == "" || w.parent.Namespace == namespace) &&
		(reference.UID == w.parent.UID || reference.UID == "" || w.parent.UID == "")
}

// ruleText names the rule and the parent of a mark, for a message.
func ruleText(rule string, owner mark.Owner) string {
	text := strings.TrimSpace("rule " + rule)
	if owner.Rule != "" {
		text = "rule " + owner.Rule
	}
	if owner.Parent.Name != "" {
		return text + " for " + owner.Parent.String()
	}
	return text + ", for another parent"
}

// refusal says why the engine would not write to the existing object with the name of a rendered one. It is nil if the
// engine would, or if no object has the name.
func (w *world) refusal(node string, rendered *unstructured.Unstructured) error {
	id := identity.Of(rendered)
	live := w.byID[id]
	if live == nil {
		return nil
	}
	owned := w.ties[id]
	free := !owned.claimed && !owned.returns
	switch {
	case live.GetDeletionTimestamp() != nil:
		return &refusal.TerminatingError{Ref: mark.RefOf(live), Reason: apply.Terminating(live)}
	case owned.ours, owned.returns, free && w.children[node].Adopt:
		return nil
	}
	taken := &refusal.NameConflictError{Ref: mark.RefOf(live), OwnedBy: owned.by}
	if free {
		taken.Free = live
	}
	return taken
}
