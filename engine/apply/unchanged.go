package apply

import (
	"context"
	"hash/maphash"
	"maps"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/apply/mark"
)

// Most reconciles of a child find that nothing has changed: its own creation comes back as an event, or its status moves. So
// the writer remembers what a child was made from, and sees by comparing hashes that it would be prepared as it was.

// inSyncState is what the writer remembers of a child that was in sync. Nothing is remembered of one that is being deleted.
type inSyncState struct {
	// version is the newest resourceVersion in which the child was seen to be in sync.
	version string
	// state is a hash of our managedFields entries and of the value hash that they belong to.
	state uint64
	// source identifies what the child was prepared from.
	source fieldset.Source
}

// sourceOf hashes with a seed of the process's own, so hashes of 64 bits are enough: nobody can search for two
// objects with one hash.
func (w *Writer) sourceOf(k fieldset.Kind, rendered *unstructured.Unstructured, owner mark.Owner, controller *metav1.OwnerReference, policy fieldset.Policy) fieldset.Source {
	h := fieldset.Hasher{Seed: w.seed}
	sum := h.Value(rendered.Object)
	sum = h.Join(sum, maphash.Comparable(h.Seed, owner))
	sum = h.Join(sum, maphash.String(h.Seed, w.marks.Keys().CurrentID()))
	if controller != nil {
		sum = h.Join(sum, maphash.Comparable(h.Seed, [...]string{controller.APIVersion, controller.Kind, controller.Name, string(controller.UID)}))
	}
	for _, path := range policy.Ignore {
		sum = h.Join(sum, maphash.String(h.Seed, path.String()))
	}
	sum = h.Join(sum, maphash.Comparable(h.Seed, policy.Content))
	return fieldset.Source{Hash: sum, Converter: k.Converter}
}

// UnchangedIn reports what Unchanged does of the object in one version, as long as that is the newest in which it was seen to be in
// sync. Nobody has to read the object for that.
func (w *Writer) UnchangedIn(ctx context.Context, rendered *unstructured.Unstructured, owner mark.Owner, controller *metav1.OwnerReference, policy fieldset.Policy, uid types.UID, version string) bool {
	known, ok := w.lastInSync(uid)
	return ok && known.version == version && w.isMadeFrom(ctx, known, rendered, owner, controller, policy)
}

// lastInSync is how the object with that UID was when it was in sync.
func (w *Writer) lastInSync(uid types.UID) (known inSyncState, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	known, ok = w.known[uid]
	return known, ok
}

// isMadeFrom reports whether a child that was in sync was prepared from this.
func (w *Writer) isMadeFrom(ctx context.Context, known inSyncState, rendered *unstructured.Unstructured, owner mark.Owner, controller *metav1.OwnerReference, policy fieldset.Policy) bool {
	if known.source == (fieldset.Source{}) {
		return false
	}
	kind, err := w.Server.Kind(ctx, rendered.GroupVersionKind())
	return err == nil && known.source == w.sourceOf(kind, rendered, owner, controller, policy)
}

// Unchanged reports whether live is the child that Sync left, or found, in sync when it was last given this very object,
// owner, controller and policy, and is so still. It sends no request and changes nothing; false means only that Prepare
// and Sync have to look.
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
	if !ok || !w.marks.Owns(live, owner.RuleID, owner.Parent.UID) {
		return false
	}
	state, err := w.stateOf(live, last.Value)
	if err != nil || state != known.state {
		return false
	}
	known.version = live.GetResourceVersion()
	w.rememberState(live, known)
	return true
}

// stateOf hashes our entries of live and a value hash.
func (w *Writer) stateOf(live *unstructured.Unstructured, value string) (uint64, error) {
	h := fieldset.Hasher{Seed: w.seed}
	entries, err := h.Entries(fieldset.OwnEntries(live))
	return h.Join(entries, maphash.String(h.Seed, value)), err
}

// Knows reports whether version is exactly the resourceVersion of the object with uid that a write of its child made, or in which
// the child was found to be in sync last.
func (w *Writer) Knows(uid types.UID, version string) bool {
	known, ok := w.lastInSync(uid)
	return ok && known.version == version
}

// SameButContent reports whether two states of one object differ in nothing that Sync and Delete go by: in none of the metadata
// but the versions, and in none of our entries of managedFields, of which there are some. What others changed in the content is
// no matter.
func SameButContent(before, after *unstructured.Unstructured) bool {
	own := fieldset.OwnEntries(after)
	return len(own) > 0 && fieldset.SameEntries(fieldset.OwnEntries(before), own) && reflect.DeepEqual(withoutVersions(before), withoutVersions(after))
}

func withoutVersions(obj *unstructured.Unstructured) map[string]any {
	metadata, _ := obj.Object["metadata"].(map[string]any)
	metadata = maps.Clone(metadata)
	for _, field := range []string{"resourceVersion", "generation", "managedFields"} {
		delete(metadata, field)
	}
	return metadata
}
