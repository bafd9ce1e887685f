package apply

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// AnnotationRetained names, on an object that was let go, the rule and the parent that it returns to when they want it
// again: the rule's namespace and name and the parent's, with slashes between them.
const AnnotationRetained = "kanon.dev/retained-by"

// Retain says on which occasions a child is let go in place of being deleted.
type Retain string

// The values of Retain.
const (
	RetainNever       Retain = ""
	RetainWhenPruned  Retain = "WhenPruned"
	RetainWhenDeleted Retain = "WhenDeleted"
	RetainAlways      Retain = "Always"
)

// WhenPruned says whether a child stays that is rendered no more.
func (r Retain) WhenPruned() bool { return r == RetainWhenPruned || r == RetainAlways }

// WhenDeleted says whether a child stays whose parent is deleted.
func (r Retain) WhenDeleted() bool { return r == RetainWhenDeleted || r == RetainAlways }

// RetainWhen is the Retain of both occasions.
func RetainWhen(pruned, deleted bool) Retain {
	switch {
	case pruned && deleted:
		return RetainAlways
	case pruned:
		return RetainWhenPruned
	case deleted:
		return RetainWhenDeleted
	default:
		return RetainNever
	}
}

// retainedBy is what the annotation says of one that was o's.
func (o Owner) retainedBy() string {
	return o.Rule + "/" + o.Parent.Namespace + "/" + o.Parent.Name
}

// Orphan lets a child go: it loses what makes it the owner's, ownerReference, labels and annotations, and says from then on
// only where it came from. It is changed in exactly the version seen; one that has changed is read once more, and let go if it
// is the same object and belongs to the same owner still. The result is the object as it is then; nil when it is gone, is being
// deleted, or is ours no longer.
func (w *Writer) Orphan(ctx context.Context, gvr schema.GroupVersionResource, live *unstructured.Unstructured, owner Owner) (*unstructured.Unstructured, error) {
	var replaced *ReplacedError
	for again := true; ; again = false {
		if live.GetDeletionTimestamp() != nil || !w.marks.Owns(live, owner.RuleID, owner.Parent.UID) {
			return nil, nil
		}
		answer, err := w.orphanExactly(ctx, gvr, live, owner)
		switch {
		case err == nil:
			return answer, nil
		case apierrors.IsNotFound(err):
			return nil, nil
		case !apierrors.IsConflict(err) || !again:
			return nil, fmt.Errorf("let %s go: %w", RefOf(live), err)
		}
		live, err = w.getSame(ctx, gvr, live)
		switch {
		case errors.As(err, &replaced):
			return nil, nil
		case err != nil:
			return nil, err
		}
	}
}

func (w *Writer) orphanExactly(ctx context.Context, gvr schema.GroupVersionResource, live *unstructured.Unstructured, owner Owner) (*unstructured.Unstructured, error) {
	ref := RefOf(live)
	metadata := map[string]any{
		"uid": string(ref.UID), "resourceVersion": live.GetResourceVersion(),
		"labels":      map[string]any{LabelRule: nil, LabelParentUID: nil, LabelNode: nil},
		"annotations": map[string]any{AnnotationOwner: nil, AnnotationApplied: nil, AnnotationRetained: owner.retainedBy()},
	}
	if RefersTo(live, owner.Parent.UID) {
		metadata["ownerReferences"] = withoutReference(live, owner.Parent.UID)
	}
	body, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		return nil, fmt.Errorf("encode the metadata of %s: %w", ref, err)
	}
	answer, err := w.resource(gvr, ref.Namespace).Patch(ctx, ref.Name, types.MergePatchType, body,
		metav1.PatchOptions{FieldManager: Manager, FieldValidation: metav1.FieldValidationStrict})
	if err != nil {
		return nil, err
	}
	w.Forget(ref.UID)
	logr.FromContextOrDiscard(ctx).V(2).Info("let go", "child", ref, "uid", ref.UID)
	return answer, nil
}

// withoutReference is the ownerReferences of obj without the one to the object with that UID.
func withoutReference(obj *unstructured.Unstructured, uid types.UID) []any {
	references, _, _ := unstructured.NestedSlice(obj.Object, "metadata", "ownerReferences")
	return slices.DeleteFunc(references, func(reference any) bool {
		fields, ok := reference.(map[string]any)
		return ok && fields["uid"] == string(uid)
	})
}

// Return takes back an object that Sync found in the child's place and that was let go by the same rule for the same parent:
// live is Free of its *NameTakenError, and Returns is true there. With asIs its content stays as it is. Before that, the caller
// reads the parent from the API server, as for Adopt.
func (w *Writer) Return(ctx context.Context, gvr schema.GroupVersionResource, child *Child, live *unstructured.Unstructured, asIs bool) (Result, error) {
	returning := *child
	returning.returning = true
	if asIs {
		return w.reclaim(ctx, gvr, &returning, live)
	}
	return w.update(ctx, gvr, &returning, live)
}

// returns says whether live was let go by the rule and the parent that want it again, and nobody has taken it since.
func (c *Child) returns(live *unstructured.Unstructured) bool {
	by, ok := metaString(live, "annotations", AnnotationRetained)
	if !ok || by != c.Owner.retainedBy() {
		return false
	}
	_, claimed := c.marks.OwnerOf(live)
	return !claimed && metav1.GetControllerOfNoCopy(live) == nil
}
