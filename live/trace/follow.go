package trace

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// calm is how long a tree must stay unchanged before it is read again: one change brings others.
const calm = 200 * time.Millisecond

// The pauses after a failure. Each is twice the one before.
const (
	firstPause   = time.Second
	longestPause = 15 * time.Second
)

// ErrDeleted reports that the followed object no longer exists.
var ErrDeleted = errors.New("the object was deleted")

// Following configures Follow. All fields are required.
type Following struct {
	// Read reads the object. If the object no longer exists, it returns the API server's error, or one that wraps it.
	Read func(ctx context.Context) (*unstructured.Unstructured, error)
	// Show receives the first tree, and then each tree that differs from the one before, with the differences.
	Show func(root *Node, changes []Change) error
	// Failed receives the error of a failed reading. The reading is retried.
	Failed func(error)
}

// Follow watches the objects of a tree and shows the tree again whenever it changes, until ctx ends. The error is
// ErrDeleted, that of the first reading, or that of Show.
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
			continue // read again: something may have changed before the new watches began
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

// sleep waits for d. It returns false if ctx ends first.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
