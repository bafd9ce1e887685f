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

// Ensure creates a child whose content is not changed if it exists. live is nil, or an object that does not currently
// belong to the parent. If an existing object is ours after all, because somebody removed the label that selects it
// or because an earlier parent orphaned it, its marks are restored and nothing else.
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

// Claim restores the marks of an object of ours without changing its content: labels, annotations and the controller
// ownerReference. With a nil controller, it removes the reference to the owner's parent, if there is one. If nothing
// is missing, it sends no request.
func (w *Writer) Claim(ctx context.Context, gvr schema.GroupVersionResource, live *unstructured.Unstructured, owner mark.Owner, controller *metav1.OwnerReference) (Result, error) {
	return w.reclaim(ctx, gvr, w.unfinished(live, owner, controller), live)
}

// unfinished returns a child with nothing but the marks of the owner.
func (w *Writer) unfinished(live *unstructured.Unstructured, owner mark.Owner, controller *metav1.OwnerReference) *Child {
	object := &unstructured.Unstructured{Object: map[string]any{}}
	object.SetGroupVersionKind(live.GroupVersionKind())
	object.SetNamespace(live.GetNamespace())
	object.SetName(live.GetName())
	return &Child{
		Desired: fieldset.Desired{Object: object, Ref: mark.RefOf(object)}, Owner: owner, mark: w.Marks.Add(object, owner, controller), Options: w.Options,
	}
}

// claim writes the marks of child that live lacks, in exactly the version seen.
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

// missingMarks returns what the metadata of live lacks to make it the owner's child.
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

// wantedMarks returns the labels and annotations that make live the owner's child; nil for those that it must not
// have. The hashes in AnnotationApplied stay as they are. A former mark of the same owner is kept.
func (c *Child) wantedMarks(live *unstructured.Unstructured) map[string]map[string]any {
	if owner, ok := c.Marks.OwnerOf(live); ok && c.Marks.FormerCounts(live) && owner == c.Owner {
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
