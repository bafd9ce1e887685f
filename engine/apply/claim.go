package apply

import (
	"context"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/apply/mark"
)

// reclaim restores the marks of an object of ours.
func (w *Writer) reclaim(ctx context.Context, child *Child, live *unstructured.Unstructured) (Result, error) {
	if err := child.refuse(live); err != nil {
		return Result{}, err
	}
	return w.claim(ctx, child, live)
}

// Claim restores the marks of an object of ours without changing its content: labels, annotations and the controller
// ownerReference. If what is wanted has no controller, it removes the reference to the owner's parent, if there is one.
// If nothing is missing, it sends no request. It reads neither the object nor the policy of what is wanted.
func (w *Writer) Claim(ctx context.Context, wanted Wanted, live *unstructured.Unstructured) (Result, error) {
	return w.reclaim(ctx, w.unfinished(wanted, live), live)
}

// unfinished returns a child with nothing but the marks of the owner.
func (w *Writer) unfinished(wanted Wanted, live *unstructured.Unstructured) *Child {
	object := &unstructured.Unstructured{Object: map[string]any{}}
	object.SetGroupVersionKind(live.GroupVersionKind())
	object.SetNamespace(live.GetNamespace())
	object.SetName(live.GetName())
	return &Child{
		Desired: fieldset.Desired{Object: object, Ref: mark.RefOf(object)}, GVR: wanted.GVR, Owner: wanted.Owner,
		options: w.Options, mark: w.Marks.Add(object, wanted.Owner, wanted.Controller),
	}
}

// claim writes the marks of child that live lacks, in exactly the version seen.
func (w *Writer) claim(ctx context.Context, child *Child, live *unstructured.Unstructured) (Result, error) {
	missing := child.missingMarks(live)
	if len(missing) == 0 {
		return Result{Live: live, Action: ActionNone}, nil
	}
	missing["uid"], missing["resourceVersion"] = string(live.GetUID()), live.GetResourceVersion()
	answer, err := w.Server.PatchMetadata(ctx, child.GVR, child.Ref, fieldset.Manager, missing)
	switch {
	case IsReplaced(err):
		return Result{}, &ReplacedError{Ref: mark.RefOf(live), Err: err}
	case err != nil:
		return Result{}, OfObject("mark", child.Object, err)
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
// have. The hashes in AnnotationApplied stay as they are.
func (c *Child) wantedMarks(live *unstructured.Unstructured) map[string]map[string]any {
	m := c.mark
	m.Fingerprint, _ = mark.Recorded(live)
	labels := map[string]any{mark.LabelRule: c.Owner.RuleID, mark.LabelParentUID: nil}
	annotations := map[string]any{mark.AnnotationOwner: nil, mark.AnnotationApplied: m.String()}
	if c.Owner.Tracked {
		labels[mark.LabelParentUID], annotations[mark.AnnotationOwner] = string(c.Owner.Parent.UID), c.Owner.Text()
	}
	return map[string]map[string]any{"labels": labels, "annotations": annotations}
}
