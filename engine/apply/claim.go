package apply

import (
	"context"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/apply/refusal"
)

// Ensure creates a child whose content is not to be changed where it exists. live is nil, or an object that is not the
// parent's as it stands. One of ours that has the name all the same, because somebody took away the label by which it is
// found, or because it was orphaned by an earlier parent, gets back what makes it ours and nothing else.
//
// The errors are those of Sync.
func (w *Writer) Ensure(ctx context.Context, gvr schema.GroupVersionResource, child *Child, live *unstructured.Unstructured) (Result, error) {
	if live != nil {
		return w.reclaim(ctx, gvr, child, live)
	}
	return w.create(ctx, gvr, child, w.reclaim)
}

func (w *Writer) reclaim(ctx context.Context, gvr schema.GroupVersionResource, child *Child, live *unstructured.Unstructured) (Result, error) {
	if err := child.refuse(live); err != nil {
		return Result{}, err
	}
	return w.claim(ctx, gvr, child, live)
}

// Claim gives an object of ours whose content is left as it is what makes it ours, where it lacks some of that: labels,
// AnnotationOwner and the controller ownerReference. With a controller of nil, it loses the one to the owner's parent that it
// may have. A complete one costs no request.
func (w *Writer) Claim(ctx context.Context, gvr schema.GroupVersionResource, live *unstructured.Unstructured, owner mark.Owner, controller *metav1.OwnerReference) (Result, error) {
	return w.reclaim(ctx, gvr, w.unfinished(live, owner, controller), live)
}

// unfinished is a child of which nothing is known but what makes it the owner's.
func (w *Writer) unfinished(live *unstructured.Unstructured, owner mark.Owner, controller *metav1.OwnerReference) *Child {
	object := &unstructured.Unstructured{Object: map[string]any{}}
	object.SetGroupVersionKind(live.GroupVersionKind())
	object.SetNamespace(live.GetNamespace())
	object.SetName(live.GetName())
	return &Child{
		Desired: fieldset.Desired{Object: object, Ref: mark.RefOf(object)}, Owner: owner, mark: w.marks.Add(object, owner, controller), claims: w.claims,
	}
}

// claim writes what live lacks of the marks of child, in exactly the version seen.
func (w *Writer) claim(ctx context.Context, gvr schema.GroupVersionResource, child *Child, live *unstructured.Unstructured) (Result, error) {
	missing := child.missingMarks(live)
	if len(missing) == 0 {
		return Result{Live: live, Action: ActionNone}, nil
	}
	missing["uid"], missing["resourceVersion"] = string(live.GetUID()), live.GetResourceVersion()
	answer, err := w.Server.PatchMetadata(ctx, gvr, child.Ref, fieldset.Manager, missing)
	switch {
	case refusal.IsReplaced(err):
		return Result{}, &refusal.ReplacedError{Ref: mark.RefOf(live), Err: err}
	case err != nil:
		return Result{}, refusal.OfObject("mark", child.Object, err)
	}
	logr.FromContextOrDiscard(ctx).V(2).Info("marked", "child", child.Ref, "uid", answer.GetUID())
	return Result{Live: answer, Action: ActionApplied}, nil
}

// missingMarks is what live lacks in its metadata of what makes it the owner's child.
func (c *Child) missingMarks(live *unstructured.Unstructured) map[string]any {
	missing := map[string]any{}
	wanted := mark.EnsureMap(c.Object.Object, "metadata")
	for field, marks := range c.wantedMarks(live) {
		for key, value := range marks {
			have, ok := mark.MetadataString(live, field, key)
			if value == nil && ok || value != nil && (!ok || have != value) {
				mark.EnsureMap(missing, field)[key] = value
			}
		}
	}
	if _, ok := mark.MetadataString(live, "annotations", mark.AnnotationRetained); ok {
		mark.EnsureMap(missing, "annotations")[mark.AnnotationRetained] = nil
	}
	own, referring := wanted["ownerReferences"].([]any)
	switch {
	case c.RestoresController(live):
		missing["ownerReferences"] = append(mark.WithoutReference(live, c.Owner.Parent.UID), own[len(own)-1])
	case !referring && mark.RefersTo(live, c.Owner.Parent.UID):
		missing["ownerReferences"] = mark.WithoutReference(live, c.Owner.Parent.UID)
	}
	return missing
}

// wantedMarks are the labels and annotations that make live the owner's child, nil for those that it must not have. What was
// written last stays in AnnotationApplied. A former mark that says the same is as good.
func (c *Child) wantedMarks(live *unstructured.Unstructured) map[string]map[string]any {
	if owner, ok := c.marks.OwnerOf(live); ok && c.marks.FormerCounts(live) && owner == c.Owner {
		return map[string]map[string]any{"labels": {
			mark.LabelRule: owner.RuleID, mark.LabelParentUID: string(owner.Parent.UID), mark.LabelNode: mark.NodeLabel(owner.Node),
		}}
	}
	m := c.mark
	m.Fingerprint, _ = mark.Recorded(live)
	labels := map[string]any{mark.LabelRule: c.Owner.RuleID, mark.LabelParentUID: nil, mark.LabelNode: nil}
	annotations := map[string]any{mark.AnnotationOwner: nil, mark.AnnotationApplied: m.String()}
	if c.Owner.Tracked {
		labels[mark.LabelParentUID], annotations[mark.AnnotationOwner] = string(c.Owner.Parent.UID), c.Owner.Text()
	}
	return map[string]map[string]any{"labels": labels, "annotations": annotations}
}
