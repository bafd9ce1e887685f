package apply

import (
	"context"
	"errors"
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

// Options configure a Writer.
type Options struct {
	// Server sends all requests. Required.
	Server *server.API
	// Marks proves whose an object is. Required.
	Marks *mark.Marks
	// Reserved are objects that are never written.
	Reserved reserved.Objects
	// NameOf is the namespace/name of a rule, for messages; empty where it is not known. nil: none is.
	NameOf func(ruleID string) string
	// IsGone reports whether the rule that an owner names is known to be deleted. What it made for a parent is then taken
	// over by another rule that renders it for the same parent. nil: none is.
	IsGone func(mark.Owner) bool
}

// claims is by what a Writer and its children tell whose an object is. The fields are as in Options.
type claims struct {
	marks    *mark.Marks
	reserved reserved.Objects
	isGone   func(mark.Owner) bool
	nameOf   func(ruleID string) string
}

// Writer compares and writes children. It is safe for concurrent use.
type Writer struct {
	claims
	// Server sends all requests.
	Server *server.API
	shapes fieldset.Shapes

	// seed is what sources and shapes are hashed with.
	seed maphash.Seed

	// noPut has the resources that took a patch from us after they had denied us a PUT.
	noPut sync.Map

	mu sync.Mutex
	// known maps the UID of a child to what it was after the last write or the last successful cover check. Guarded
	// by mu.
	known map[types.UID]inSyncState
}

// New returns a Writer, or an error when a required option is missing.
func New(o Options) (*Writer, error) {
	if o.Server == nil || o.Marks == nil {
		return nil, errors.New("apply: Options.Server and Marks are required")
	}
	if o.IsGone == nil {
		o.IsGone = func(mark.Owner) bool { return false }
	}
	if o.NameOf == nil {
		o.NameOf = func(string) string { return "" }
	}
	seed := maphash.MakeSeed()
	return &Writer{
		claims: claims{marks: o.Marks, reserved: o.Reserved, isGone: o.IsGone, nameOf: o.NameOf},
		Server: o.Server,
		seed:   seed,
		shapes: fieldset.Shapes{Seed: seed},
		known:  map[types.UID]inSyncState{},
	}, nil
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
	// Lost are the rendered paths that an apply took back, see Child.Lost; none where what is rendered changed too.
	Lost []fieldset.Contested
}

// Sync brings one child up to date. live is the newest known state of the whole object, nil where there is none; it is not
// changed. A child that is in sync costs no request; one that must change costs one, or one more where live is not how it is any
// more, or three when the set of its paths changes for the first time after its creation; a new one costs one.
//
// The error is *refusal.NameConflictError, *refusal.TerminatingError, *refusal.ReplacedError, *refusal.OwnerReferenceLostError or *refusal.InvalidError; any other error is worth another try.
func (w *Writer) Sync(ctx context.Context, gvr schema.GroupVersionResource, child *Child, live *unstructured.Unstructured) (Result, error) {
	if live == nil {
		return w.create(ctx, gvr, child, w.update)
	}
	return w.update(ctx, gvr, child, live)
}

// InSync reports whether live is as child wants it: its mark says the same, the recorded value hash is equal, and our entries in
// managedFields still hold every rendered path. It sends no request.
func (w *Writer) InSync(_ context.Context, child *Child, live *unstructured.Unstructured) bool {
	if w.marks.FormerCounts(live) {
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

// Needless reports whether Sync would find nothing to do. It asks for no more of live than its metadata, and sends no request.
func (w *Writer) Needless(ctx context.Context, child *Child, live *unstructured.Unstructured) bool {
	return child.refuse(live) == nil && w.InSync(ctx, child, live)
}

// Forget drops what is kept in memory of the object with that UID. It is called when the object is gone.
func (w *Writer) Forget(uid types.UID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.known, uid)
}

// remember keeps our entries in the answer of a write of child.
func (w *Writer) remember(child *Child, answer *unstructured.Unstructured) {
	state, err := w.stateOf(answer, child.fingerprint.Value)
	if err != nil {
		w.Forget(answer.GetUID()) // the cover check decides then
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
