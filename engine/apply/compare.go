package apply

import (
	"context"
	"hash/maphash"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/apply/mark"
)

// Most reconciles of a child find that nothing has changed: its own creation comes back as an event, or its status
// changes. So the writer remembers, for each child, our entries in managedFields after its last write, and a hash of
// what it was prepared from. If both are the same, the child is in sync, and it is neither prepared nor decoded. To
// prepare it costs ten times as much, which is more than a tenth of the processor time of a change of its parent.

// Verdict says whether a child has to be written.
type Verdict int

// The verdicts of Compare.
const (
	// Unknown: only Compare of the prepared child, or of the whole object, can tell.
	Unknown Verdict = iota
	// InSync: the object has what is wanted, and it is ours.
	InSync
	// Differs: the child has to be written.
	Differs
)

// Wanted is a child as it should be.
type Wanted struct {
	// GVR is the resource of the object.
	GVR schema.GroupVersionResource
	// Object is what was rendered. It must have apiVersion, kind, metadata.name and, for a namespaced kind,
	// metadata.namespace. It is not changed.
	Object *unstructured.Unstructured
	// Owner is for whom the child is created.
	Owner mark.Owner
	// Controller is the owner reference to the parent; nil for a child that has none.
	Controller *metav1.OwnerReference
	// Policy is how the child is treated differently from the default.
	Policy fieldset.Policy
	// Child is what Prepare made of that; nil before. If it is set, Compare needs nothing else.
	Child *Child
}

// Seen is an object as last seen.
type Seen struct {
	UID     types.UID
	Version string // resourceVersion
	// Live is its metadata; nil if it was not decoded.
	Live *unstructured.Unstructured
}

// SeenAs returns an object that was decoded as Seen.
func SeenAs(live *unstructured.Unstructured) Seen {
	return Seen{UID: live.GetUID(), Version: live.GetResourceVersion(), Live: live}
}

// Compare decides whether a child has to be written. It sends no request, and is the only place that decides it:
//
//   - Before the child is prepared, it is in sync if it is wanted as when it was last in sync, and the object has the
//     version that it had then, or the same entries of ours in managedFields.
//   - A prepared child is in sync if the object has its mark and value hash, and our entries in managedFields are those
//     of our last write, or have every rendered path.
func (w *Writer) Compare(ctx context.Context, wanted Wanted, seen Seen) Verdict {
	known, isKnown := w.lastInSync(seen.UID)
	child, live := wanted.Child, seen.Live
	if child == nil {
		switch {
		case !isKnown || !w.isMadeFrom(ctx, known, wanted):
			return Unknown
		case known.version == seen.Version:
			return InSync
		case live == nil || live.GetDeletionTimestamp() != nil || !w.Marks.Owns(live, wanted.Owner.RuleID, wanted.Owner.Parent.UID):
			return Unknown
		}
	} else if child.refuse(live) != nil {
		return Differs
	}
	last, _ := mark.Recorded(live)
	if child != nil && !child.isRecordedIn(live) {
		return Differs
	}
	state, err := w.stateOf(live, last.Value)
	switch {
	case err == nil && isKnown && state == known.state:
	case child == nil:
		return Unknown
	case err != nil || !child.Covered(live):
		return Differs
	}
	source := known.source
	if child != nil {
		source = child.source
	}
	w.setInSync(live, inSyncState{version: seen.Version, state: state, source: source})
	return InSync
}

// Knows reports whether version is exactly the resourceVersion that the last write of the child resulted in, or in
// which it was last found in sync.
func (w *Writer) Knows(uid types.UID, version string) bool {
	known, ok := w.lastInSync(uid)
	return ok && known.version == version
}

// Forget drops the state of the object with this UID. Call it when the object is gone.
func (w *Writer) Forget(uid types.UID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.known, uid)
}

// inSyncState is what the writer remembers of a child that was in sync. It remembers none that is being deleted.
type inSyncState struct {
	// version is the newest resourceVersion in which the child was seen in sync.
	version string
	// state is a hash of our managedFields entries and the value hash.
	state uint64
	// source identifies what the child was prepared from.
	source fieldset.Source
}

// lastInSync returns the last state in which the object with this UID was in sync.
func (w *Writer) lastInSync(uid types.UID) (known inSyncState, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	known, ok = w.known[uid]
	return known, ok
}

func (w *Writer) setInSync(live *unstructured.Unstructured, seen inSyncState) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if live.GetDeletionTimestamp() != nil {
		delete(w.known, live.GetUID())
		return
	}
	w.known[live.GetUID()] = seen
}

// remember records the state of a child from the answer of a write.
func (w *Writer) remember(child *Child, answer *unstructured.Unstructured) {
	state, err := w.stateOf(answer, child.fingerprint.Value)
	if err != nil {
		w.Forget(answer.GetUID()) // then the cover check decides
		return
	}
	w.setInSync(answer, inSyncState{version: answer.GetResourceVersion(), state: state, source: child.source})
}

// stateOf hashes our entries in live and a value hash.
func (w *Writer) stateOf(live *unstructured.Unstructured, value string) (uint64, error) {
	h := fieldset.Hasher{Seed: w.seed}
	entries, err := h.Entries(fieldset.OwnEntries(live))
	return h.Join(entries, maphash.String(h.Seed, value)), err
}

// isMadeFrom reports whether a child that was in sync was prepared from what is wanted.
func (w *Writer) isMadeFrom(ctx context.Context, known inSyncState, wanted Wanted) bool {
	if known.source == (fieldset.Source{}) {
		return false
	}
	kind, err := w.Server.Kind(ctx, wanted.Object.GroupVersionKind())
	return err == nil && known.source == w.sourceOf(kind, wanted)
}

// sourceOf identifies what a child is prepared from. It hashes with a seed of this process, so hashes of 64 bits
// suffice: nobody can search for two objects with the same hash.
func (w *Writer) sourceOf(k fieldset.Kind, wanted Wanted) fieldset.Source {
	h := fieldset.Hasher{Seed: w.seed}
	sum := h.Value(wanted.Object.Object)
	sum = h.Join(sum, maphash.Comparable(h.Seed, wanted.Owner))
	sum = h.Join(sum, maphash.String(h.Seed, w.Marks.Keys().CurrentID()))
	if c := wanted.Controller; c != nil {
		sum = h.Join(sum, maphash.Comparable(h.Seed, [...]string{c.APIVersion, c.Kind, c.Name, string(c.UID)}))
	}
	for _, path := range wanted.Policy.Ignore {
		sum = h.Join(sum, maphash.String(h.Seed, path.String()))
	}
	sum = h.Join(sum, maphash.Comparable(h.Seed, wanted.Policy.Content))
	return fieldset.Source{Hash: sum, Converter: k.Converter}
}
