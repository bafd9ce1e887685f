package feedback

import (
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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

// VersionOf returns the version of an object; zero for nil.
func VersionOf(obj *unstructured.Unstructured) Version {
	if obj == nil {
		return Version{}
	}
	return Version{UID: obj.GetUID(), Resource: obj.GetResourceVersion()}
}

// Change is a version of an object that an event shows.
type Change struct {
	Object  identity.ID
	Version Version
}

// ownWrite is a write of an object by a reconcile.
type ownWrite struct {
	key      queue.Key
	object   identity.ID
	children int
	effect   *Provenance
	// then is called once the write has ended.
	then []func()
}

// Chains stores the Chain of each key.
type Chains interface {
	// UpdateChain changes the Chain of a key, and UpdateChains that of each key that has one.
	UpdateChain(k queue.Key, change func(*Chain))
	UpdateChains(change func(queue.Key, *Chain))
}

// Tracker knows which reconcile made which version of an object, and what led to that. It is safe for concurrent use.
type Tracker struct {
	chains Chains
	now    func() time.Time

	mu sync.Mutex
	// written and before have, by version that Kanon wrote, what follows from it. The older ones are in before, and are
	// dropped together. Guarded by mu, like everything below.
	written, before map[Version]*Provenance
	rotated         time.Time
	// underway has the writes without an answer, the newest last: the event may come before the answer.
	underway map[identity.ID][]*ownWrite
}

// NewTracker makes a Tracker.
func NewTracker(chains Chains, now func() time.Time) *Tracker {
	return &Tracker{
		chains: chains, now: now, written: make(map[Version]*Provenance), before: make(map[Version]*Provenance), underway: make(map[identity.ID][]*ownWrite),
	}
}

// Changed records that a change of an object enqueues a key.
func (t *Tracker) Changed(k queue.Key, change Change) {
	t.expire()
	t.Caused(k, t.CauseOf(change))
}

// CauseOf returns what led to a change; nil if somebody other than Kanon made it.
func (t *Tracker) CauseOf(change Change) *Provenance {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, written := range []map[Version]*Provenance{t.written, t.before} {
		for _, v := range []Version{change.Version, {UID: change.Version.UID}} {
			if effect := written[v]; effect != nil {
				return effect
			}
		}
	}
	if underway := t.underway[change.Object]; len(underway) > 0 {
		return underway[len(underway)-1].effect
	}
	return nil
}

// Caused records what led to a change that enqueues a key; nil if somebody else made the change.
func (t *Tracker) Caused(k queue.Key, how *Provenance) {
	t.chains.UpdateChain(k, func(chain *Chain) { chain.changed(how) })
}

// expire forgets the writes whose events must all have come, and chains that can have no further effect.
func (t *Tracker) expire() {
	now := t.now()
	t.mu.Lock()
	due := now.Sub(t.rotated) >= writeLife
	if due {
		t.before, t.written, t.rotated = t.written, make(map[Version]*Provenance), now
	}
	t.mu.Unlock()
	if due {
		t.chains.UpdateChains(func(_ queue.Key, chain *Chain) { chain.expire(now) })
	}
}

// Restart ends the loops that involve one of these rules, which have changed, and returns the keys that were in one.
// Other loops continue: whoever may change one rule must not end the pauses of all.
func (t *Tracker) Restart(rules map[string]bool) (looped []queue.Key) {
	if len(rules) == 0 {
		return nil
	}
	t.chains.UpdateChains(func(k queue.Key, chain *Chain) {
		if chain.restart(k, rules) {
			looped = append(looped, k)
		}
	})
	return looped
}

// Begin begins a reconcile of a key. It returns what led to it, or how long it has to wait because the key is in a
// loop, which is at most longest.
func (t *Tracker) Begin(k queue.Key, now time.Time, longest time.Duration) (provenance *Provenance, wait time.Duration) {
	t.chains.UpdateChain(k, func(chain *Chain) { provenance, wait = chain.begin(k, now, longest) })
	return provenance, wait
}

// BeginWrite records that a reconcile of a key with that provenance is writing an object, until end is called. wrote
// names the object in messages. children is how many objects the rule has for the parent, as far as known.
func (t *Tracker) BeginWrite(k queue.Key, object identity.ID, wrote string, cause *Provenance, children int) (end func()) {
	write := &ownWrite{key: k, object: object, children: children, effect: cause.then(k, wrote)}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.underway[object] = append(t.underway[object], write)
	return func() {
		for _, then := range t.endWrite(write) {
			then()
		}
	}
}

// endWrite ends a write, and returns what waited for that.
func (t *Tracker) endWrite(write *ownWrite) (then []func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	left := slices.DeleteFunc(t.underway[write.object], func(other *ownWrite) bool { return other == write })
	if t.underway[write.object] = left; len(left) == 0 {
		delete(t.underway, write.object)
	}
	return write.then
}

// writeLocked returns the newest write of an object by a key that is under way, or nil.
func (t *Tracker) writeLocked(k queue.Key, object identity.ID) *ownWrite {
	for _, write := range slices.Backward(t.underway[object]) {
		if write.key == k {
			return write
		}
	}
	return nil
}

// AwaitWrite has then called once the write of an object by a reconcile of a key has ended. It returns false, and does
// not call then, if no such write is under way.
func (t *Tracker) AwaitWrite(k queue.Key, object identity.ID, then func()) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	write := t.writeLocked(k, object)
	if write != nil {
		write.then = append(write.then, then)
	}
	return write != nil
}

// Wrote records that a write of an object, which has begun and was made by a reconcile of a key, made that version of
// the object. It returns the provenance of what follows; nil if no such write has begun.
func (t *Tracker) Wrote(k queue.Key, object identity.ID, v Version) (effect *Provenance) {
	t.expire()
	t.chains.UpdateChain(k, func(chain *Chain) {
		t.mu.Lock()
		defer t.mu.Unlock()
		if write := t.writeLocked(k, object); write != nil {
			chain.wrote(write.children, t.now())
			effect = write.effect
			t.written[v] = effect
		}
	})
	return effect
}

// HandOver records that a reconcile of a key contributes to what the target of a patch is written with.
func (t *Tracker) HandOver(from queue.Key, cause *Provenance, target queue.Key) {
	t.Caused(target, cause.then(from, "its part of patch "+target.Patch))
}
