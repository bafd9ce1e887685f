package apply

import (
	"context"
	"hash/maphash"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/apply/mark"
)

// Most reconciles of a child find that nothing has changed: its own creation comes back as an event, or its status
// changes. So the writer remembers what a child was made from, and detects by comparing hashes that Prepare would
// return the same child.

// inSyncState is what the writer remembers of a child that was in sync. It remembers none that is being deleted.
type inSyncState struct {
	// version is the newest resourceVersion in which the child was seen in sync.
	version string
	// state is a hash of our managedFields entries and the value hash.
	state uint64
	// source identifies what the child was prepared from.
	source fieldset.Source
}

// sourceOf identifies what a child is prepared from. It hashes with a seed of this process, so hashes of 64 bits
// suffice: nobody can search for two objects with the same hash.
func (w *Writer) sourceOf(k fieldset.Kind, rendered *unstructured.Unstructured, owner mark.Owner, controller *metav1.OwnerReference, policy fieldset.Policy) fieldset.Source {
	h := fieldset.Hasher{Seed: w.seed}
	sum := h.Value(rendered.Object)
	sum = h.Join(sum, maphash.Comparable(h.Seed, owner))
	sum = h.Join(sum, maphash.String(h.Seed, w.Marks.Keys().CurrentID()))
	if controller != nil {
		sum = h.Join(sum, maphash.Comparable(h.Seed, [...]string{controller.APIVersion, controller.Kind, controller.Name, string(controller.UID)}))
	}
	for _, path := range policy.Ignore {
		sum = h.Join(sum, maphash.String(h.Seed, path.String()))
	}
	sum = h.Join(sum, maphash.Comparable(h.Seed, policy.Content))
	return fieldset.Source{Hash: sum, Converter: k.Converter}
}

// UnchangedIn is Unchanged for the object in one version, provided that this is the newest in which it was seen in
// sync. It does not need the object.
func (w *Writer) UnchangedIn(ctx context.Context, rendered *unstructured.Unstructured, owner mark.Owner, controller *metav1.OwnerReference, policy fieldset.Policy, uid types.UID, version string) bool {
	known, ok := w.lastInSync(uid)
	return ok && known.version == version && w.isMadeFrom(ctx, known, rendered, owner, controller, policy)
}

// lastInSync returns the last state in which the object with this UID was in sync.
func (w *Writer) lastInSync(uid types.UID) (known inSyncState, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	known, ok = w.known[uid]
	return known, ok
}

// isMadeFrom reports whether a child that was in sync was prepared from these inputs.
func (w *Writer) isMadeFrom(ctx context.Context, known inSyncState, rendered *unstructured.Unstructured, owner mark.Owner, controller *metav1.OwnerReference, policy fieldset.Policy) bool {
	if known.source == (fieldset.Source{}) {
		return false
	}
	kind, err := w.Server.Kind(ctx, rendered.GroupVersionKind())
	return err == nil && known.source == w.sourceOf(kind, rendered, owner, controller, policy)
}

// Unchanged reports whether live was in sync after the last Sync with exactly this object, owner, controller and
// policy, and still is. It sends no request and changes nothing. If it returns false, Prepare and Sync have to
// decide.
func (w *Writer) Unchanged(ctx context.Context, rendered *unstructured.Unstructured, owner mark.Owner, controller *metav1.OwnerReference, policy fieldset.Policy, live *unstructured.Unstructured) bool {
	if live == nil || live.GetDeletionTimestamp() != nil {
		return false
	}
	known, ok := w.lastInSync(live.GetUID())
	if !ok || !w.isMadeFrom(ctx, known, rendered, owner, controller, policy) {
		return false
	}
	if known.version == live.GetResourceVersion() {
		return true
	}
	last, ok := mark.Recorded(live)
	if !ok {
		return false
	}
	state, err := w.stateOf(live, last.Value)
	if err != nil || state != known.state || !w.Marks.Owns(live, owner.RuleID, owner.Parent.UID) {
		return false
	}
	known.version = live.GetResourceVersion()
	w.rememberState(live, known)
	return true
}

// stateOf hashes our entries in live and a value hash.
func (w *Writer) stateOf(live *unstructured.Unstructured, value string) (uint64, error) {
	h := fieldset.Hasher{Seed: w.seed}
	entries, err := h.Entries(fieldset.OwnEntries(live))
	return h.Join(entries, maphash.String(h.Seed, value)), err
}

// Knows reports whether version is exactly the resourceVersion that the last write of the child resulted in, or in
// which it was last found in sync.
func (w *Writer) Knows(uid types.UID, version string) bool {
	known, ok := w.lastInSync(uid)
	return ok && known.version == version
}
