package reconcile

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/kinds/restmapping"
)

// The view hides an object that has the label of children and whose mark proves nothing. It may be a child
// nevertheless: somebody changed its mark, or the key was lost. That does not matter if the child is written anyway:
// the write notices and marks it again. But if a rule asks whether a child exists before it writes it, as with
// createWhen, a hidden child must not count as absent.

// unmarkedReader reads the object with a child's name that the informer does not show. It returns the object if it may
// be marked again, and nil if it is somebody else's or does not exist.
type unmarkedReader func(kind restmapping.Kind, rendered *unstructured.Unstructured) (*unstructured.Unstructured, error)

func (c *childWriter) unmarkedReaderIn(ctx context.Context) unmarkedReader {
	return func(kind restmapping.Kind, rendered *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		live, err := c.readChild(ctx, kind.GVR, rendered)
		if err != nil || live == nil || live.GetDeletionTimestamp() != nil {
			return nil, err
		}
		if !c.Writer.MayMark(live, c.op.Owner(c.parent, "")) {
			return nil, nil
		}
		return live, nil
	}
}

// unmarkedChild returns the object with a child's name in a view that hides it; nil if there is none or it is not the
// parent's. version is the object's resourceVersion. An object is read once in a reconcile, and somebody else's object
// once in each version.
func (r *reader) unmarkedChild(kind restmapping.Kind, rendered *unstructured.Unstructured, version string) (*unstructured.Unstructured, error) {
	id := identity.Of(rendered)
	if live, known := r.revealed[id]; known {
		return live, nil
	}
	if r.readUnmarked == nil || r.memory != nil && r.memory.Foreign[id] == version {
		return nil, nil
	}
	live, err := r.readUnmarked(kind, rendered)
	if err != nil {
		return nil, err
	}
	if r.revealed == nil {
		r.revealed = make(map[identity.ID]*unstructured.Unstructured)
	}
	r.revealed[id] = live
	if live == nil && r.memory != nil {
		if r.memory.Foreign == nil {
			r.memory.Foreign = make(map[identity.ID]string)
		}
		r.memory.Foreign[id] = version
	}
	return live, nil
}

// isOurs reports whether a child in view, or one that readUnmarked returned, is the parent's.
func (r *reader) isOurs(live *unstructured.Unstructured) bool {
	return r.revealed[identity.Of(live)] == live || r.marks.Owns(live, r.op.ID, r.parent.GetUID())
}
