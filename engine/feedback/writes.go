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

// writeLife is the minimum time for which it is remembered that Kanon made a version of an object: as long as its event
// may take.
const writeLife = 30 * time.Second

// Version identifies one state of one object.
type Version struct {
	UID      types.UID
	Resource string // empty for the deletion of the object
}

// IsDeletion reports whether the object was deleted.
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
	// then is called once the write has ended.
	then []func()
}

// newOwnWrite returns a write of an object by a reconcile of a key with that provenance. wrote names the object in
// messages. children is how many objects the rule has for the parent, as far as known.
func newOwnWrite(k queue.Key, object identity.ID, wrote string, cause *Provenance, children int) *ownWrite {
	return &ownWrite{key: k, object: object, children: children, cause: cause, effect: cause.then(k, wrote)}
}

// writes knows which versions of objects Kanon wrote recently, and what led to each. It is safe for concurrent use.
type writes struct {
	// seed is for all hashes. volatile are annotations that are not part of an object's state. They never change.
	seed     maphash.Seed
	volatile []string

	mu sync.Mutex
	// written and before have, by version that Kanon wrote, what follows from it. The older ones are in before, and are
	// dropped together. Guarded by mu, like everything below.
	written, before map[Version]*Provenance
	rotated         time.Time
	// underway has the writes without an answer, the newest last: the event may come before the answer.
	underway map[identity.ID][]*ownWrite
}

// newWrites returns writes for objects whose volatile annotations change without a change of state.
func newWrites(volatile ...string) *writes {
	return &writes{
		seed: maphash.MakeSeed(), volatile: volatile,
		written: make(map[Version]*Provenance), before: make(map[Version]*Provenance), underway: make(map[identity.ID][]*ownWrite),
	}
}

// begin records that a write is under way, until end is called.
func (w *writes) begin(write *ownWrite) (end func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.underway[write.object] = append(w.underway[write.object], write)
	return func() {
		for _, then := range w.end(write) {
			then()
		}
	}
}

// end records that a write has ended, and returns what waited for that.
func (w *writes) end(write *ownWrite) (then []func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	left := slices.DeleteFunc(w.underway[write.object], func(other *ownWrite) bool { return other == write })
	if w.underway[write.object] = left; len(left) == 0 {
		delete(w.underway, write.object)
	}
	return write.then
}

// await has then called once the newest write of an object by a key has ended; false if none is under way.
func (w *writes) await(k queue.Key, object identity.ID, then func()) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, write := range slices.Backward(w.underway[object]) {
		if write.key == k {
			write.then = append(write.then, then)
			return true
		}
	}
	return false
}

// done records the answer of a key's write of an object, which has begun and not ended. The write made that version,
// and the state has that digest, which is needed only if the provenance is long. chain is the key's. It returns the
// provenance of what follows; nil if no such write has begun.
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

// of returns what led to a change; nil if somebody other than Kanon made it.
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

// rotate forgets the writes whose events must all have come, if it is time for that, and reports whether it was. The
// caller must then let chains expire.
func (w *writes) rotate(now time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if now.Sub(w.rotated) < writeLife {
		return false
	}
	w.before, w.written, w.rotated = w.written, make(map[Version]*Provenance), now
	return true
}
