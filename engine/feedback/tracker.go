package feedback

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/engine/queue"
)

// Chains remembers the Chain of each key.
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

// NewTracker makes a Tracker that has seen nothing. The volatile annotations of objects change although nothing else does.
func NewTracker(chains Chains, now func() time.Time, volatile ...string) *Tracker {
	return &Tracker{writes: newWrites(volatile...), chains: chains, now: now}
}

// Changed takes in that a change of an object enqueues a key.
func (t *Tracker) Changed(k queue.Key, change Change) {
	t.expire()
	t.Caused(k, t.CauseOf(change))
}

// CauseOf is what led to a change; nil where somebody else than Kanon made it.
func (t *Tracker) CauseOf(change Change) *Provenance { return t.writes.of(change) }

// Caused takes in what led to a change that enqueues a key; nil where somebody else made the change.
func (t *Tracker) Caused(k queue.Key, how *Provenance) {
	t.chains.UpdateChain(k, func(chain *Chain) { chain.changed(how) })
}

// expire forgets writes, and chains of them, that can have no effect any more.
func (t *Tracker) expire() {
	now := t.now()
	if t.writes.rotate(now) {
		t.chains.UpdateChains(func(_ queue.Key, chain *Chain) { chain.expire(now) })
	}
}

// Restart ends the loops in which rules take part that have changed, by their ids, and lists the keys that were in one. Others go on:
// who may change one rule does not end the pauses of all.
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

// Begin begins a reconcile of a key, and gives what led to it, or how long it has to wait because the key is in a loop; longest
// bounds that.
func (t *Tracker) Begin(k queue.Key, now time.Time, longest time.Duration) (provenance *Provenance, wait time.Duration) {
	t.chains.UpdateChain(k, func(chain *Chain) { provenance, wait = chain.begin(k, now, longest) })
	return provenance, wait
}

// BeginWrite takes in that a reconcile of a key with that provenance is writing an object, until end is called. wrote names the
// object to people, and children is how many objects the rule has for the parent, as far as that is known.
func (t *Tracker) BeginWrite(k queue.Key, object identity.ID, wrote string, cause *Provenance, children int) (end func()) {
	return t.writes.begin(newOwnWrite(k, object, wrote, cause, children))
}

// Wrote takes in that a write of an object by a reconcile of a key, which has begun, made that version of the object. It returns
// the provenance of what follows.
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

// HandOver takes in that a reconcile of a key has a part in what the target of a patch is written with.
func (t *Tracker) HandOver(from queue.Key, cause *Provenance, target queue.Key) {
	how := cause.then(from, "its part of patch "+target.Patch)
	t.chains.UpdateChain(from, func(chain *Chain) { chain.carryOn(from, cause, t.now()) })
	t.Caused(target, how)
}
