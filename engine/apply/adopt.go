package apply

import (
	"context"
	"errors"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/apply/refusal"
)

// Adopt takes over an object that Sync found in the child's place and that nobody claims: live is Free of the
// *refusal.NameConflictError. From then on it is a child like any other, and is deleted with its parent. With asIs,
// only marks are added and its content stays as it is.
//
// It is taken over only in the version seen. If somebody claims it in between, such as another parent that adopts it
// at the same time, its resourceVersion changes and the write is refused. Before that, the caller reads the parent
// from the API server: an object given to a parent that is being deleted would be deleted with it.
func (w *Writer) Adopt(ctx context.Context, gvr schema.GroupVersionResource, child *Child, live *unstructured.Unstructured, asIs bool) (Result, error) {
	if err := child.refuseAdoption(live); err != nil {
		return Result{}, err
	}
	if asIs {
		result, err := w.claim(ctx, gvr, child, live)
		result.Action = ActionAdopted
		return result, err
	}
	answer, err := w.apply(ctx, gvr, child, live, live.GetResourceVersion())
	if err != nil {
		return Result{}, err
	}
	logr.FromContextOrDiscard(ctx).V(2).Info("adopted", "child", child.Ref, "uid", answer.GetUID())
	w.remember(child, answer)
	return Result{Live: answer, Action: ActionAdopted}, nil
}

// refuseAdoption returns why live must not be taken over, or nil.
func (c *Child) refuseAdoption(live *unstructured.Unstructured) error {
	err := c.refuse(live)
	if conflict, ok := errors.AsType[*refusal.NameConflictError](err); ok && conflict.Free != nil {
		return nil
	}
	return err
}

// mayAdopt reports whether nobody claims an object: it has no controller, no mark, and no label of a rule, even
// though labels are copied. The parent is never its own child. An object in which we applied fields that are now
// ignored is not adopted either: that would remove the fields.
func (c *Child) mayAdopt(live *unstructured.Unstructured) bool {
	_, claimed := c.Marks.OwnerOf(live)
	_, labelled := mark.MetadataString(live, "labels", mark.LabelRule)
	return !claimed && !labelled && metav1.GetControllerOfNoCopy(live) == nil &&
		live.GetUID() != c.Owner.Parent.UID && !c.OwnsIgnored(live)
}
