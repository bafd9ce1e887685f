package feedback

import (
	"hash/maphash"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/engine/queue"
)

// writeLife is how long it is known, at least, that Kanon made a version of an object: as long as its event may take.
const writeLife = 30 * time.Second

// Version is one state of one object.
type Version struct {
	UID      types.UID
	Resource string // empty for the deletion of the object
}

// IsDeletion tells whether the object was deleted.
func (v Version) IsDeletion() bool { return v.Resource == "" }

// Change is a version of an object that an event shows.
type Change struct {
	Object  identity.ID
	Version Version
}

// ownWrite is a write of an object by a reconcile.
type ownWrite struct {
	key           queue.Key
	object        identity.ID
	children      int
	cause, effect *Provenance
}

// newOwnWrite is a write of an object by a reconcile of a key with that provenance. wrote names the object to people, and children
// is how many objects the rule has for the parent, as far as that is known.
func newOwnWrite(k queue.Key, object identity.ID, wrote string, cause *Provenance, children int) *ownWrite {
	return &ownWrite{key: k, object: object, children: children, cause: cause, effect: cause.then(k, wrote)}
}

// writes knows which versions of objects Kanon wrote lately, and what led to each. It is safe for concurrent use.
type writes struct {
	// seed is that of all hashes, and volatile are annotations that do not belong to an object's state. They never change.
	seed     maphash.Seed
	volatile []string

	mu sync.Mutex
	// written and before have what follows from each version that Kanon wrote, the older ones apart: they are dropped together.
	// Guarded by mu, as all below.
	written, before map[Version]*Provenance
	rotated         time.Time
	// underway has the writes without an answer, the newest last: the event may come first.
	underway map[identity.ID][]*ownWrite
}

// newWrites returns writes for objects of which the volatile annotations change although nothing else does.
func newWrites(volatile ...string) *writes {
	return &writes{
		seed: maphash.MakeSeed(), volatile: volatile,
		written: make(map[Version]*Provenance), before: make(map[Version]*Provenance), underway: make(map[identity.ID][]*ownWrite),
	}
}

// begin takes in that a write is on its way, until end is called.
func (w *writes) begin(write *ownWrite) (end func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.underway[write.object] = append(w.underway[write.object], write)
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		left := slices.DeleteFunc(w.underway[write.object], func(other *ownWrite) bool { return other == write })
		if w.underway[write.object] = left; len(left) == 0 {
			delete(w.underway, write.object)
		}
	}
}

// done takes in the answer of a key's write of an object, which has begun and not ended: the write made that version, and the
// state has that digest, which is asked for only where the provenance is long. chain is that of the key. It returns the
// provenance of what follows; nil where no such write has begun.
func (w *writes) done(chain *Chain, k queue.Key, object identity.ID, v Version, digest uint64, now time.Time) *Provenance {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, write := range slices.Backward(w.underway[object]) {
		if write.key == k {
			chain.wrote(w.seed, write, digest, now)
			w.written[v] = write.effect
			return write.effect
		}
	}
	return nil
}

// of is what led to a change; nil where somebody else than Kanon made it.
func (w *writes) of(change Change) *Provenance {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, written := range []map[Version]*Provenance{w.written, w.before} {
		for _, v := range []Version{change.Version, {UID: change.Version.UID}} {
			if effect := written[v]; effect != nil {
				return effect
			}
		}
	}
	if underway := w.underway[change.Object]; len(underway) > 0 {
		return underway[len(underway)-1].effect
	}
	return nil
}

// rotate forgets the writes of which all events have come, when it is time for that, and tells whether it was. Chains are to be
// asked then whether they have expired.
func (w *writes) rotate(now time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if now.Sub(w.rotated) < writeLife {
		return false
	}
	w.before, w.written, w.rotated = w.written, make(map[Version]*Provenance), now
	return true
}
