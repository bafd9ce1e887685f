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

// Adopt takes over an object that Sync found in the child's place and that nobody claims: live is Free of its
// *refusal.NameConflictError. From then on it is a child like any other, and ends with its parent. With asIs its content stays as it is:
// it is given what makes it the owner's and nothing else.
//
// It is taken over only in the version seen: who claims it in between, such as another parent that adopts it at the same time,
// changes its resourceVersion, and the apply is refused. Before that, the caller reads the parent from the API server: an
// object given to a parent that is being deleted would be deleted with it.
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

// refuseAdoption says why live must not be taken over, or nil.
func (c *Child) refuseAdoption(live *unstructured.Unstructured) error {
	err := c.refuse(live)
	if conflict, ok := errors.AsType[*refusal.NameConflictError](err); ok && conflict.Free != nil {
		return nil
	}
	return err
}

// mayAdopt reports whether nobody claims an object: it has no controller, no rule has made it for anybody, and no label says
// that one has, even though labels are copied. The parent itself is never its own child. An object in which we have applied
// what is ignored now is left alone too: to adopt it would take that away.
func (c *Child) mayAdopt(live *unstructured.Unstructured) bool {
	_, claimed := c.marks.OwnerOf(live)
	_, labelled := mark.MetadataString(live, "labels", mark.LabelRule)
	return !claimed && !labelled && metav1.GetControllerOfNoCopy(live) == nil &&
		live.GetUID() != c.Owner.Parent.UID && !c.HoldsIgnored(live)
}
