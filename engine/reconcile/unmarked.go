package reconcile

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/kinds/restmapping"
)

// An object that has the label of children and whose mark proves nothing is not in view. It may be a child all the same, of
// which somebody has changed the mark, or of which the key was lost. That does not matter where the child is written anyway:
// the write finds out, and gives it a new mark. But where a rule asks whether a child exists before it writes one, as with
// createWhen, a child that the informer does not show must not be taken for one that does not exist.

// unmarkedReader reads the object of a child's name that the informer does not show, and returns it if it may be given a new mark; nil
// where it is somebody else's, or gone.
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

// unmarkedChild is the object of a child's name in a view that does not show it; nil where there is none, or where it is not the
// parent's. version is the object's. Each is read once in a reconcile, and one that is somebody else's once in each version.
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

// isOurs tells whether a child in view, or one that unproven gave, is the parent's.
func (r *reader) isOurs(live *unstructured.Unstructured) bool {
	if r.revealed[identity.Of(live)] == live {
		return true
	}
	return r.marks.Owns(live, r.op.ID, r.parent.GetUID())
}
