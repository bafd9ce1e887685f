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

// Follow reads the tree of an object again and again until ctx ends. It shows the first tree, and then each that differs
// from the one before; times alone are no difference. If the object no longer exists, read returns the API server's
// error, or one that wraps it. failed receives the error of a reading that is retried. The error is ErrDeleted, that of
// the first reading, or that of show.
func (t *Tracer) Follow(
	ctx context.Context, read func(context.Context) (*unstructured.Unstructured, error), show func(*Node) error, failed func(error),
) error {
	shown := ""
	err := wait.PollUntilContextCancel(ctx, live.Pause, true, func(ctx context.Context) (bool, error) {
		root, err := t.Read(ctx, read)
		switch {
		case apierrors.IsNotFound(err) && shown != "":
			return false, ErrDeleted
		case err != nil && shown == "":
			return false, err
		case err != nil:
			failed(err)
			return false, nil
		}
		if now := root.statements(); now != shown {
			shown = now
			return false, show(root)
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
