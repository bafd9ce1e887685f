package apply

import (
	"context"
	"maps"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/apply/mark"
)

// asFormer returns the child with a former mark, for comparison with an object that has one.
func (w *Writer) asFormer(c *Child) (*Child, error) {
	twin := *c
	twin.former = true
	object, metadata := maps.Clone(c.Object.Object), maps.Clone(mark.EnsureMap(c.Object.Object, "metadata"))
	for _, field := range []string{"labels", "annotations"} {
		metadata[field] = maps.Clone(mark.EnsureMap(metadata, field))
	}
	object["metadata"] = metadata
	twin.Object = &unstructured.Unstructured{Object: object}
	if err := mark.AddFormer(twin.Object, twin.Owner); err != nil {
		return nil, err
	}
	return &twin, w.takeFingerprint(&twin)
}

// replaceFormerMark gives a child that has a former mark, and is about to be written to, its current mark. It does so
// by a patch and not by an apply, so that one Update entry still has everything that we own, and later changes need
// no apply either. A child that needs an apply anyway is returned as it is. If only the mark differed, the child is
// in sync afterwards.
func (w *Writer) replaceFormerMark(ctx context.Context, gvr schema.GroupVersionResource, child *Child, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if !mark.IsFormer(live) || !child.UpdatedOnly(live) {
		return live, nil
	}
	former, err := w.asFormer(child)
	last, ok := mark.Recorded(live)
	if err != nil || !ok || last.Paths != former.fingerprint.Paths {
		return live, err
	}
	fresh := child.mark
	fresh.Fingerprint = mark.Fingerprint{Paths: child.fingerprint.Paths, Content: last.Content}
	if last.Value == former.fingerprint.Value && former.Covered(live) {
		fresh.Fingerprint = child.fingerprint
	}
	annotations := map[string]any{mark.AnnotationOwner: nil, mark.AnnotationApplied: fresh.String()}
	labels := map[string]any{mark.LabelParentUID: nil, mark.LabelNode: nil}
	if child.Owner.Tracked {
		annotations[mark.AnnotationOwner] = child.Owner.Text()
		delete(labels, mark.LabelParentUID)
	}
	answer, err := w.Server.PatchMetadata(ctx, gvr, child.Ref, fieldset.Manager, map[string]any{
		"uid": string(live.GetUID()), "labels": labels, "annotations": annotations,
	})
	if err != nil {
		logr.FromContextOrDiscard(ctx).V(4).Info("could not replace a former mark; applying the child", "child", child.Ref, "reason", err.Error())
		return live, nil
	}
	return answer, nil
}
