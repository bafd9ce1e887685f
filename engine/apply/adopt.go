package apply

import (
	"context"
	"errors"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/apply/mark"
)

// Adopt takes over an object that Sync found in the child's place and that nobody claims: live is Free of the
// *NameConflictError. From then on it is a child like any other, and is deleted with its parent. With asIs,
// only marks are added and its content stays as it is.
//
// The fields that are rendered become ours alone: if another manager kept one, it would stay when it is no longer rendered.
// Fields that are not rendered stay as they are, and belong to whom they belonged.
//
// It is taken over only in the version seen. If somebody claims it in between, such as another parent that adopts it
// at the same time, its resourceVersion changes and the write is refused. Before that, the caller reads the parent
// from the API server: an object given to a parent that is being deleted would be deleted with it.
func (w *Writer) Adopt(ctx context.Context, child *Child, live *unstructured.Unstructured, asIs bool) (Result, error) {
	if err := child.refuseAdoption(live); err != nil {
		return Result{}, err
	}
	if asIs {
		result, err := w.claim(ctx, child, live)
		result.Action = ActionAdopted
		return result, err
	}
	live, managers, err := w.takeFields(ctx, child, live)
	if err != nil {
		return Result{}, err
	}
	answer, err := w.applyExactly(ctx, child, live, applyOptions{version: live.GetResourceVersion()})
	if err != nil {
		return Result{}, err
	}
	logr.FromContextOrDiscard(ctx).V(2).Info("adopted", "child", child.Ref, "uid", answer.GetUID(), "managers", managers)
	w.remember(child, answer)
	return Result{Live: answer, Action: ActionAdopted, TakenFrom: managers}, nil
}

// takeFields removes the rendered fields of child from the entries of other managers in managedFields of exactly the
// version seen. It returns the object after that, and the managers that had such fields.
func (w *Writer) takeFields(ctx context.Context, child *Child, live *unstructured.Unstructured) (*unstructured.Unstructured, []string, error) {
	entries, managers, err := child.EntriesForAdoption(live)
	if err != nil || len(managers) == 0 {
		return live, nil, err
	}
	taken, err := w.Server.PatchSteps(ctx, child.GVR, child.Ref, metav1.PatchOptions{FieldManager: fieldset.Manager}, fieldset.ManagedFieldsPatch(live, entries))
	switch {
	case IsReplaced(err):
		return nil, nil, &ReplacedError{Ref: mark.RefOf(live), Err: err}
	case err != nil:
		return nil, nil, OfObject("adopt", child.Object, err)
	}
	return taken, managers, nil
}

// refuseAdoption returns why live must not be taken over, or nil.
func (c *Child) refuseAdoption(live *unstructured.Unstructured) error {
	err := c.refuse(live)
	if conflict, ok := errors.AsType[*NameConflictError](err); ok && conflict.Free != nil {
		return nil
	}
	return err
}

// mayAdopt reports whether nobody claims an object: it has no controller, no mark, and no label of a rule, even
// though labels are copied. The parent is never its own child. An object in which we applied fields that are now
// ignored is not adopted either: that would remove the fields.
func (c *Child) mayAdopt(live *unstructured.Unstructured) bool {
	_, claimed := c.options.Marks.OwnerOf(live)
	_, labelled := mark.MetadataString(live, "labels", mark.LabelRule)
	return !claimed && !labelled && metav1.GetControllerOfNoCopy(live) == nil &&
		live.GetUID() != c.Owner.Parent.UID && !c.OwnsIgnored(live)
}
