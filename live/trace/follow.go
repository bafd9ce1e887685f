package trace

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// calm is how long nothing must have changed before a tree is read again: one change brings others.
const calm = 200 * time.Millisecond

// The pauses after a failure, each twice the one before.
const (
	firstPause   = time.Second
	longestPause = 15 * time.Second
)

// ErrDeleted says that the object that was followed no longer exists.
var ErrDeleted = errors.New("the object was deleted")

// Following says how a tree is followed. All fields are needed.
type Following struct {
	// Read reads the object. If it no longer exists, the error is the API server's, or wraps it.
	Read func(ctx context.Context) (*unstructured.Unstructured, error)
	// Show is given the first tree, and each that differs from the one before, with what differs.
	Show func(root *Node, changes []Change) error
	// Failed is told that the tree could not be read. It is tried again.
	Failed func(error)
}

// Follow shows the tree of an object again each time that something in it changes, until ctx ends. It watches the objects. The
// error is ErrDeleted, or that of the first reading or of Show.
func (t *Tracer) Follow(ctx context.Context, f Following) error {
	watches := newWatches(t.options)
	defer watches.stop()
	var shown *Node
	pause := firstPause
	for ctx.Err() == nil {
		root, err := t.readTree(ctx, f.Read)
		switch {
		case ctx.Err() != nil:
			return nil
		case apierrors.IsNotFound(err) && shown != nil:
			return ErrDeleted
		case err != nil && shown == nil:
			return err
		case err != nil:
			f.Failed(err)
			if !sleep(ctx, pause) {
				return nil
			}
			pause = min(2*pause, longestPause)
			continue
		}
		pause = firstPause
		var changes []Change
		if shown != nil {
			changes = Changes(shown, root)
		}
		if shown == nil || len(changes) > 0 {
			if err := f.Show(root, changes); err != nil {
				return err
			}
			shown = root
		}
		if watches.cover(ctx, root) {
			continue // what changed before the new watches began shows in another reading
		}
		if !watches.await(ctx) {
			return nil
		}
	}
	return nil
}

// readTree reads the object and its tree.
func (t *Tracer) readTree(ctx context.Context, read func(context.Context) (*unstructured.Unstructured, error)) (*Node, error) {
	object, err := read(ctx)
	if err != nil {
		return nil, err
	}
	root, err := t.Trace(ctx, object)
	if err != nil {
		return nil, fmt.Errorf("read the tree: %w", err)
	}
	return root, nil
}

// sleep waits; false if ctx ends first.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
