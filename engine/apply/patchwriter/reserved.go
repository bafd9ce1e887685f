package patchwriter

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/apply/patchset"
)

// mayWrite fails for a patch of an object that no rule may write.
func (w *Writer) mayWrite(p Patch) error {
	if p.Content == nil {
		return nil // the patch is removed
	}
	if err := w.reserved.Check(p.Object); err != nil {
		return err
	}
	return w.reserved.CheckRef(mark.RefOf(p.Object), p.Content.SetsLabel)
}

// MayWrite fails for an object that no rule may write, whatever the rule says.
func (w *Writer) MayWrite(live *unstructured.Unstructured) error { return w.reserved.Check(live) }

// MayContribute fails for what no rule may set in a target, whatever the target is now. part is nil where what it sets is not
// known.
func (w *Writer) MayContribute(kind schema.GroupKind, target types.NamespacedName, part *patchset.Part) error {
	return w.reserved.CheckRef(mark.Ref{Group: kind.Group, Kind: kind.Kind, Namespace: target.Namespace, Name: target.Name}, part.SetsLabel)
}
