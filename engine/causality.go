package engine

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine/feedback"
	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/engine/monitor"
	"kanon.dev/kanon/engine/parents"
	"kanon.dev/kanon/engine/queue"
)

// causality is what package feedback knows: which reconcile made which version of an object, and what led to that.
type causality struct {
	writes  *feedback.Writes
	parents *parents.Store
	now     func() time.Time
}

func (c *causality) updateChain(k queue.Key, change func(*feedback.Chain)) {
	c.parents.Update(k, func(s *parents.State) { s.UpdateChain(change) })
}

func (c *causality) updateChains(change func(queue.Key, *feedback.Chain)) {
	c.parents.UpdateAll(func(k queue.Key, s *parents.State) {
		if s.Chain != nil {
			s.UpdateChain(func(chain *feedback.Chain) { change(k, chain) })
		}
	})
}

// noteChange takes in that a change of an object enqueues a key.
func (c *causality) noteChange(k queue.Key, event monitor.Event) {
	obj := event.Newest()
	if obj == nil {
		return
	}
	c.expireWrites()
	how := c.writes.Of(feedback.Change{
		Object: identity.At(obj), Version: feedback.Version{UID: obj.UID(), Resource: obj.ResourceVersion()},
	})
	c.updateChain(k, func(chain *feedback.Chain) { chain.Changed(how) })
}

// expireWrites forgets writes, and chains of them, that can have no effect any more.
func (c *causality) expireWrites() {
	now := c.now()
	if c.writes.Rotate(now) {
		c.updateChains(func(_ queue.Key, chain *feedback.Chain) { chain.Expire(now) })
	}
}

// restartChains ends all loops because the rules have changed, and lists the keys that were in one.
func (c *causality) restartChains() (looped []queue.Key) {
	c.updateChains(func(k queue.Key, chain *feedback.Chain) {
		if chain.Restart() {
			looped = append(looped, k)
		}
	})
	return looped
}

// beginChain begins a reconcile of a key, and gives what led to it, or how long it has to wait because the key is in a
// loop; longest bounds that.
func (c *causality) beginChain(k queue.Key, now time.Time, longest time.Duration) (provenance *feedback.Provenance, wait time.Duration) {
	c.updateChain(k, func(chain *feedback.Chain) { provenance, wait = chain.Begin(k, now, longest) })
	return provenance, wait
}

// wrote takes in that a write of an object by a reconcile of a key, which has begun, made that version of the object.
func (c *causality) wrote(k queue.Key, cause *feedback.Provenance, obj *unstructured.Unstructured, v feedback.Version) (effect *feedback.Provenance) {
	c.expireWrites()
	var digest uint64
	if cause.IsLong(k) && !v.IsDeletion() {
		digest = c.writes.Digest(obj)
	}
	c.updateChain(k, func(chain *feedback.Chain) {
		effect = c.writes.Done(chain, k, identity.Of(obj), v, digest, c.now())
	})
	return effect
}

// handOver takes in that a reconcile of a key has a part in what the target of a patch is written with.
func (c *causality) handOver(from queue.Key, cause *feedback.Provenance, target queue.Key) {
	how := cause.Then(from, "its part of patch "+target.Patch)
	c.updateChain(from, func(chain *feedback.Chain) { chain.Continue(from, cause, c.now()) })
	c.updateChain(target, func(chain *feedback.Chain) { chain.Changed(how) })
}
