package feedback

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/engine/queue"
)

// Chains stores the Chain of each key.
type Chains interface {
	// UpdateChain changes the Chain of a key, and UpdateChains that of each key that has one.
	UpdateChain(k queue.Key, change func(*Chain))
	UpdateChains(change func(queue.Key, *Chain))
}

// Tracker knows which reconcile made which version of an object, and what led to that. It is safe for concurrent use.
type Tracker struct {
	writes *writes
	chains Chains
	now    func() time.Time
}

// NewTracker makes a Tracker. The volatile annotations of objects change without a change of state.
func NewTracker(chains Chains, now func() time.Time, volatile ...string) *Tracker {
	return &Tracker{writes: newWrites(volatile...), chains: chains, now: now}
}

// Changed records that a change of an object enqueues a key.
func (t *Tracker) Changed(k queue.Key, change Change) {
	t.expire()
	t.Caused(k, t.CauseOf(change))
}

// CauseOf returns what led to a change; nil if somebody other than Kanon made it.
func (t *Tracker) CauseOf(change Change) *Provenance { return t.writes.of(change) }

// Caused records what led to a change that enqueues a key; nil if somebody else made the change.
func (t *Tracker) Caused(k queue.Key, how *Provenance) {
	t.chains.UpdateChain(k, func(chain *Chain) { chain.changed(how) })
}

// expire forgets writes and chains that can have no further effect.
func (t *Tracker) expire() {
	now := t.now()
	if t.writes.rotate(now) {
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
	return t.writes.begin(newOwnWrite(k, object, wrote, cause, children))
}

// AwaitWrite has then called once the write of an object by a reconcile of a key has ended. It returns false, and does
// not call then, if no such write is under way.
func (t *Tracker) AwaitWrite(k queue.Key, object identity.ID, then func()) bool {
	return t.writes.await(k, object, then)
}

// Wrote records that a write of an object, which has begun and was made by a reconcile of a key, made that version of
// the object. It returns the provenance of what follows.
func (t *Tracker) Wrote(k queue.Key, cause *Provenance, obj *unstructured.Unstructured, v Version) (effect *Provenance) {
	t.expire()
	var digest uint64
	if cause.IsLong(k) && !v.IsDeletion() {
		digest = t.writes.digest(obj)
	}
	t.chains.UpdateChain(k, func(chain *Chain) {
		effect = t.writes.done(chain, k, identity.Of(obj), v, digest, t.now())
	})
	return effect
}

// HandOver records that a reconcile of a key contributes to what the target of a patch is written with.
func (t *Tracker) HandOver(from queue.Key, cause *Provenance, target queue.Key) {
	how := cause.then(from, "its part of patch "+target.Patch)
	t.chains.UpdateChain(from, func(chain *Chain) { chain.carryOn(from, cause, t.now()) })
	t.Caused(target, how)
}
