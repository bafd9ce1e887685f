package apply

import (
	"context"
	"fmt"
	"hash/maphash"
	"sync"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/apply/mark"
)

// Options is what a Writer needs. All functions are required.
type Options struct {
	// Server sends all requests.
	Server *API
	// Marks proves whose child an object is.
	Marks *mark.Marks
	// Reserved are objects that are never written.
	Reserved Reserved
	// NameOf returns the namespace/name of a rule, for messages; empty if unknown.
	NameOf func(ruleID string) string
	// IsGone reports whether the rule in an owner is known to be deleted. Another rule that renders the child for the
	// same parent then takes it over.
	IsGone func(mark.Owner) bool
}

// Writer compares and writes children. It is safe for concurrent use.
type Writer struct {
	Options
	shapes fieldset.Shapes

	// seed is the seed for hashing sources and shapes.
	seed maphash.Seed

	mu sync.Mutex
	// known has, by the UID of a child, its state after the last write or the last successful cover check. Guarded by
	// mu.
	known map[types.UID]inSyncState
}

// New returns a Writer.
func New(o Options) *Writer {
	seed := maphash.MakeSeed()
	return &Writer{Options: o, seed: seed, shapes: fieldset.Shapes{Seed: seed}, known: map[types.UID]inSyncState{}}
}

// Action says what a write did.
type Action string

// The actions.
const (
	ActionNone    Action = "none"
	ActionCreated Action = "created"
	ActionApplied Action = "applied"
	ActionAdopted Action = "adopted"
)

// Result is the outcome of a write that succeeded.
type Result struct {
	// Live is the newest known state of the object: the answer of the write, or the object that was found to be in sync.
	Live *unstructured.Unstructured
	// Action is what was done.
	Action Action
	// Lost are the rendered paths that an apply took back, see Child.Lost; none if the rendered content changed too.
	Lost []fieldset.Contested
	// TakenFrom are the field managers that had rendered fields of an object that was adopted.
	TakenFrom []string
}

// Sync brings one child up to date. live is the newest known state of the whole object, or nil; it is not changed. A
// child that is in sync takes no request. A change takes one, or more if live is outdated, or three if the set of paths
// changes for the first time since the creation. A creation takes one.
//
// The error is a *NameConflictError, *TerminatingError, *ReplacedError, *OwnerReferenceLostError or *InvalidError. Any
// other error is worth a retry.
func (w *Writer) Sync(ctx context.Context, child *Child, live *unstructured.Unstructured) (Result, error) {
	if live == nil {
		return w.create(ctx, child, w.update)
	}
	return w.update(ctx, child, live)
}

// Ensure creates a child whose content is not changed if it exists. live is nil, or an object that does not currently
// belong to the parent. If an existing object is ours after all, because somebody removed the label that selects it
// or because an earlier parent orphaned it, its marks are restored and nothing else.
//
// The errors are those of Sync.
func (w *Writer) Ensure(ctx context.Context, child *Child, live *unstructured.Unstructured) (Result, error) {
	if live != nil {
		return w.reclaim(ctx, child, live)
	}
	return w.create(ctx, child, w.reclaim)
}

// create creates a new child. If the name is taken, the object is read once from the API server and passed to exists.
func (w *Writer) create(
	ctx context.Context, child *Child, exists func(context.Context, *Child, *unstructured.Unstructured) (Result, error),
) (Result, error) {
	result, err := w.post(ctx, child)
	if !apierrors.IsAlreadyExists(err) {
		return result, err
	}
	live, getErr := w.Server.Resource(child.GVR, child.Ref.Namespace).Get(ctx, child.Ref.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(getErr) {
		return Result{}, &ReplacedError{Ref: child.Ref, Err: getErr} // it was deleted in between; the retry creates the child
	}
	if getErr != nil {
		return Result{}, fmt.Errorf("read %s, which exists already: %w", child.Ref, getErr)
	}
	if child.refuse(live) == nil && child.RestoresController(live) {
		return Result{}, &OwnerReferenceLostError{Live: live}
	}
	return exists(ctx, child, live)
}

// post creates a new child; the error is an AlreadyExists if the name is taken.
//
// A POST does not make us the owner of values that Go's types do not distinguish from a missing field: a false, a
// zero or an empty string that is dropped when stored, and an empty struct that exists anyway (NetworkPolicy's
// podSelector: {}). Others could change these unnoticed. If the answer shows such a path, one apply follows, which
// does record it.
func (w *Writer) post(ctx context.Context, child *Child) (Result, error) {
	answer, err := w.Server.Resource(child.GVR, child.Ref.Namespace).Create(ctx, child.ForCreation(), metav1.CreateOptions{
		FieldManager:    fieldset.Manager,
		FieldValidation: metav1.FieldValidationStrict,
	})
	if err != nil {
		return Result{}, OfObject("create", child.Object, err)
	}
	logr.FromContextOrDiscard(ctx).V(2).Info("created", "child", child.Ref, "uid", answer.GetUID())
	if !child.Covered(answer) {
		if answer, err = w.apply(ctx, child, answer); err != nil {
			return Result{}, err
		}
	}
	w.remember(child, answer)
	return Result{Live: answer, Action: ActionCreated}, nil
}

// update brings an existing object up to date, if it is ours.
func (w *Writer) update(ctx context.Context, child *Child, live *unstructured.Unstructured) (Result, error) {
	if err := child.refuse(live); err != nil {
		return Result{}, err
	}
	if w.Compare(ctx, Wanted{Child: child}, SeenAs(live)) == InSync {
		return Result{Live: live, Action: ActionNone}, nil
	}
	answer, err := w.change(ctx, child, live)
	if err != nil {
		return Result{}, err
	}
	w.remember(child, answer)
	result := Result{Live: answer, Action: ActionApplied}
	if last, ok := mark.Recorded(live); !ok || last.Value == child.fingerprint.Value {
		result.Lost = child.Lost(live)
	}
	return result, nil
}

// change writes what differs: by a PUT if only values differ, else by an apply.
func (w *Writer) change(ctx context.Context, child *Child, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if err := child.generatedConflict(live); err != nil {
		return nil, err
	}
	newest, done, err := w.put(ctx, child, live)
	if err == nil && !done {
		newest, err = w.claimFields(ctx, child, newest)
	}
	if done || err != nil {
		return newest, err
	}
	if err := child.generatedConflict(newest); err != nil {
		return nil, err
	}
	if child.LosesController(live, newest) {
		return nil, &OwnerReferenceLostError{Live: newest}
	}
	return w.apply(ctx, child, newest)
}
