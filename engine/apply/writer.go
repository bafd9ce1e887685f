package apply

import (
	"context"
	"hash/maphash"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/apply/reserved"
	"kanon.dev/kanon/engine/apply/server"
)

// Options is what a Writer and its children need. All functions are required.
type Options struct {
	// Server sends all requests.
	Server *server.API
	// Marks proves whose child an object is.
	Marks *mark.Marks
	// Reserved are objects that are never written.
	Reserved reserved.Objects
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

	// noPut has the resources that accepted a patch after they had refused a PUT.
	noPut sync.Map

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

// Action says what Sync did.
type Action string

// The actions of Sync.
const (
	ActionNone    Action = "none"
	ActionCreated Action = "created"
	ActionApplied Action = "applied"
	ActionAdopted Action = "adopted"
)

// Result is the outcome of a successful Sync.
type Result struct {
	// Live is the newest known state of the object: the answer of the write, or the object that was found to be in sync.
	Live *unstructured.Unstructured
	// Action is what was done.
	Action Action
	// Lost are the rendered paths that an apply took back, see Child.Lost; none if the rendered content changed too.
	Lost []fieldset.Contested
}

// Sync brings one child up to date. live is the newest known state of the whole object, or nil; it is not changed. A
// child that is in sync takes no request. A change takes one, or one more if live is outdated, or three if the set of
// paths changes for the first time since the creation. A creation takes one.
//
// The error is a *refusal.NameConflictError, *refusal.TerminatingError, *refusal.ReplacedError,
// *refusal.OwnerReferenceLostError or *refusal.InvalidError. Any other error is worth a retry.
func (w *Writer) Sync(ctx context.Context, gvr schema.GroupVersionResource, child *Child, live *unstructured.Unstructured) (Result, error) {
	if live == nil {
		return w.create(ctx, gvr, child, w.update)
	}
	return w.update(ctx, gvr, child, live)
}

// InSync reports whether live is as child wants it: it has the child's mark and value hash, and our entries in
// managedFields have every rendered path. It sends no request.
func (w *Writer) InSync(_ context.Context, child *Child, live *unstructured.Unstructured) bool {
	if w.Marks.FormerCounts(live) {
		former, err := w.asFormer(child)
		if err != nil {
			return false
		}
		child = former
	}
	last, ok := mark.Recorded(live)
	if !ok || !child.isMarked(live) || last.Value != child.fingerprint.Value || child.fingerprint.Content != "" && last.Content != child.fingerprint.Content {
		return false
	}
	state, err := w.stateOf(live, last.Value)
	if err != nil {
		return false
	}
	if known, _ := w.lastInSync(live.GetUID()); known.state != state && !child.Covered(live) {
		return false
	}
	w.rememberState(live, inSyncState{version: live.GetResourceVersion(), state: state, source: child.source})
	return true
}

// Needless reports whether Sync would have nothing to do. It reads only the metadata of live and sends no request.
func (w *Writer) Needless(ctx context.Context, child *Child, live *unstructured.Unstructured) bool {
	return child.refuse(live) == nil && w.InSync(ctx, child, live)
}

// Forget drops the state of the object with this UID. Call it when the object is gone.
func (w *Writer) Forget(uid types.UID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.known, uid)
}

// remember records the state of a child from the answer of a write.
func (w *Writer) remember(child *Child, answer *unstructured.Unstructured) {
	state, err := w.stateOf(answer, child.fingerprint.Value)
	if err != nil {
		w.Forget(answer.GetUID()) // then the cover check decides
		return
	}
	w.rememberState(answer, inSyncState{version: answer.GetResourceVersion(), state: state, source: child.source})
}

func (w *Writer) rememberState(live *unstructured.Unstructured, seen inSyncState) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if live.GetDeletionTimestamp() != nil {
		delete(w.known, live.GetUID())
		return
	}
	w.known[live.GetUID()] = seen
}
