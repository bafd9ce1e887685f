package trace

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"

	"kanon.dev/kanon/author/live"
)

// ErrDeleted reports that the followed object no longer exists.
var ErrDeleted = errors.New("the object was deleted")

// Following configures Follow. All fields are required.
type Following struct {
	// Read reads the object. If the object no longer exists, it returns the API server's error, or one that wraps it.
	Read func(ctx context.Context) (*unstructured.Unstructured, error)
	// Show receives the first tree, and then each tree that differs from the one before. Times alone are no difference.
	Show func(root *Node) error
	// Failed receives the error of a failed reading. The reading is retried.
	Failed func(error)
}

// Follow reads the tree of an object again and again, and shows it whenever it has changed, until ctx ends. The error is
// ErrDeleted, that of the first reading, or that of Show.
func (t *Tracer) Follow(ctx context.Context, f Following) error {
	shown := ""
	err := wait.PollUntilContextCancel(ctx, live.Pause, true, func(ctx context.Context) (bool, error) {
		root, err := t.Read(ctx, f.Read)
		switch {
		case apierrors.IsNotFound(err) && shown != "":
			return false, ErrDeleted
		case err != nil && shown == "":
			return false, err
		case err != nil:
			f.Failed(err)
			return false, nil
		}
		if now := root.statements(); now != shown {
			shown = now
			return false, f.Show(root)
		}
		return false, nil
	})
	if err == nil || ctx.Err() != nil {
		return nil //nolint:nilerr // who follows ends it
	}
	return err
}

// Read reads an object and its tree. The error is as of Trace, or that of read.
func (t *Tracer) Read(ctx context.Context, read func(context.Context) (*unstructured.Unstructured, error)) (*Node, error) {
	object, err := read(ctx)
	if err != nil {
		return nil, err
	}
	return t.Trace(ctx, object)
}

// statements are all that a tree says, without times.
func (n *Node) statements() string {
	var all strings.Builder
	for _, n := range n.All() {
		fmt.Fprintln(&all, n.Role, n.Rule, n.ID, n.groupKind(), n.Namespace, n.Name, n.Selector, n.State, n.why())
	}
	return all.String()
}
