package preview

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/engine/apply"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/apply/refusal"
)

// tie is what an object says of whom it belongs to, by its mark and its owner references. There are no keys here, so a
// mark is believed.
type tie struct {
	// ours is true for a child that the rule has made for the parent.
	ours bool
	// node is the child of the rule that made it, where its mark says so.
	node string
	// returns is true for an object that its former owner, who is this rule and this parent, may take back.
	returns bool
	// claimed is true where somebody else owns it, and by names them.
	claimed bool
	by      string
}

// tieOf reads whose an object is.
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

// isParent says whether a mark is for the parent. The UID decides where the parent has one.
func (w *world) isParent(owner mark.Owner) bool {
	if w.parent.UID != "" {
		return owner.Parent.UID == w.parent.UID
	}
	return owner.IsFor(w.parent)
}

// isController says whether an owner reference of an object in a namespace is to the parent. In files that somebody has
// written, UIDs may be left out.
func (w *world) isController(reference *metav1.OwnerReference, namespace string) bool {
	gv, err := schema.ParseGroupVersion(reference.APIVersion)
	return err == nil && gv.Group == w.parent.Group && reference.Kind == w.parent.Kind && reference.Name == w.parent.Name &&
		(w.parent.Namespace == "" || w.parent.Namespace == namespace) &&
		(reference.UID == w.parent.UID || reference.UID == "" || w.parent.UID == "")
}

// ruleText names the rule and the parent of a mark.
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

// refusal says why the engine would not write to the object that has the name of a rendered one; nil where it would, or
// where there is none.
func (w *world) refusal(node string, rendered *unstructured.Unstructured) error {
	id := identityOf(rendered)
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
