package engine

import (
	"hash/maphash"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/apply"
	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/engine/monitor"
	"kanon.dev/kanon/engine/queue"
)

const (
	// deedLife is how long it is known, at least, that Kanon made a version of an
	// object: as long as its event may take.
	deedLife = 30 * time.Second
	// maxNews bounds what is noted of the causes of one pass. What is beyond is left out.
	maxNews = 64
)

// causes knows why passes are made: because of what Kanon wrote itself, for the same
// or another parent, or because of something else. What rules cause one another to
// write for ever is a loop.
type causes struct {
	mu sync.Mutex
	// deeds and old are the versions that Kanon wrote, the older ones apart: they are
	// dropped together. Guarded by mu, as all below.
	deeds, old map[version]*history
	rotated    time.Time
	// writing has the writes on their way, of which the event may come first.
	writing map[identity.ID]*deed
	// news has what woke each key since its last pass began.
	news map[queue.Key]*cause
	// loops has the keys that go round in one.
	loops map[queue.Key]*loop
	// progress has what keys have written in chains that are not short.
	progress map[queue.Key]*progress
	// seed is that of all hashes in progress; not guarded, because it stays as it is.
	seed maphash.Seed
}

// version is one state of one object.
type version struct {
	uid      types.UID
	resource string // empty for its deletion
}

// cause is what woke a key.
type cause struct {
	// others is true where something came of anybody but Kanon.
	others bool
	deeds  []*history
}

func newCauses() *causes {
	return &causes{
		deeds: make(map[version]*history), old: make(map[version]*history),
		writing: make(map[identity.ID]*deed), news: make(map[queue.Key]*cause), loops: make(map[queue.Key]*loop),
		progress: make(map[queue.Key]*progress), seed: maphash.MakeSeed(),
	}
}

// begin notes that an object is being written; the function that it returns, that
// this is over.
func (c *causes) begin(id identity.ID, d *deed) (end func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if already := c.writing[id]; already != nil {
		d.underway = already.underway
	}
	d.underway++
	c.writing[id] = d
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		now := c.writing[id]
		now.underway--
		if now.underway == 0 {
			delete(c.writing, id)
		}
	}
}

// did notes that a write is done: it made a version of an object, with that digest of its
// content. It returns the history of what follows from that.
func (c *causes) did(id identity.ID, v version, d *deed, content uint64, now time.Time) *history {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rotateLocked(now)
	if begun := c.writing[id]; begun != nil && begun.key == d.key {
		d = begun // its event may have come already
	}
	if it := c.trackLocked(d.key, d.why, now); it != nil {
		it.objects = max(it.objects, d.objects)
		if it.put(c.seed, maphash.Comparable(c.seed, id), content) {
			d.made.progress = d.why.progress + 1
		}
	}
	c.deeds[v] = d.made
	return d.made
}

// digestFor is the digest of an object that a write of a key has made, where somebody
// wants to know it.
func (c *causes) digestFor(d *deed, obj *unstructured.Unstructured) uint64 {
	if d.why.of(d.key) < trackedFrom {
		return 0
	}
	return c.digest(obj)
}

// rotateLocked drops what is old.
func (c *causes) rotateLocked(now time.Time) {
	if now.Sub(c.rotated) < deedLife || len(c.deeds)+len(c.old)+len(c.progress) == 0 {
		return
	}
	c.old, c.deeds, c.rotated = c.deeds, make(map[version]*history), now
	c.sweepProgressLocked(now)
}

// deedLocked is how a version came about; nil where Kanon did not make it.
func (c *causes) deedLocked(v version) *history {
	for _, deeds := range []map[version]*history{c.deeds, c.old} {
		if how := deeds[v]; how != nil {
			return how
		}
		if how := deeds[version{uid: v.uid}]; how != nil {
			return how
		}
	}
	return nil
}

// note takes in that a change of an object wakes a key.
func (c *causes) note(k queue.Key, event monitor.Event, now time.Time) {
	obj := event.Newest()
	if obj == nil {
		return
	}
	at := version{uid: obj.UID(), resource: obj.ResourceVersion()}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rotateLocked(now)
	it := c.news[k]
	if it == nil {
		it = &cause{}
		c.news[k] = it
	}
	if it.others {
		return
	}
	how := c.deedLocked(at)
	if underway := c.writing[identity.At(obj)]; how == nil && underway != nil {
		how = underway.made
	}
	switch {
	case how == nil:
		*it = cause{others: true}
	case len(it.deeds) < maxNews && !slices.Contains(it.deeds, how):
		it.deeds = append(it.deeds, how)
	}
}

// hand has a key know that a pass is the cause of its next one, without an event.
func (c *causes) hand(k queue.Key, how *history) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.handLocked(k, how)
}

// handOver is hand of what a pass of a key has for others to write.
func (c *causes) handOver(to queue.Key, d *deed, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.trackLocked(d.key, d.why, now) // of what comes of that, the others tell
	c.handLocked(to, d.made)
}

func (c *causes) handLocked(k queue.Key, how *history) {
	it := c.news[k]
	if it == nil {
		it = &cause{}
		c.news[k] = it
	}
	if !it.others && len(it.deeds) < maxNews {
		it.deeds = append(it.deeds, how)
	}
}

func versionAt(obj *unstructured.Unstructured) version {
	return version{uid: obj.GetUID(), resource: obj.GetResourceVersion()}
}

// take begins a pass: it returns the history that led to it, empty where anybody
// else had to do with it, and the loop that the key is in. A rest says that the key
// is to be left alone for so long still.
func (c *causes) take(k queue.Key, now time.Time, limit time.Duration) (how *history, in *loop, rest time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	it, in := c.news[k], c.loops[k]
	others := it != nil && it.others
	if in != nil && !others && in.retreat.rest(now) > 0 {
		return nil, in, in.retreat.rest(now)
	}
	delete(c.news, k)
	how = &history{}
	if it != nil && !others {
		how = merge(k, it.deeds)
	}
	switch {
	case in != nil && in.retreat.rest(now) > 0: // somebody else's change does not wait
	case in != nil && how.of(k) == 0:
		in = nil
		delete(c.loops, k)
	case in != nil:
		in.retreat.deepen(now, limit)
	default:
		if in = c.judgeLocked(k, how, now); in != nil {
			in.retreat.deepen(now, limit)
			c.loops[k] = in
		}
	}
	if how.of(k) == 0 {
		delete(c.progress, k) // another chain begins
	}
	how.loop = in
	return how, in, 0
}

// Forget drops what is known of a key.
func (c *causes) Forget(k queue.Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.news, k)
	delete(c.loops, k)
	delete(c.progress, k)
}

func (c *causes) ForgetRule(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.news, func(k queue.Key, _ *cause) bool { return k.Rule == id })
	maps.DeleteFunc(c.loops, func(k queue.Key, _ *loop) bool { return k.Rule == id })
	maps.DeleteFunc(c.progress, func(k queue.Key, _ *progress) bool { return k.Rule == id })
}

func (c *causes) AddKeys(rule string, found queue.Keys) {
	c.mu.Lock()
	defer c.mu.Unlock()
	queue.AddOf(c.loops, rule, found)
	queue.AddOf(c.progress, rule, found)
}

// release lets all keys out of their loops, because rules have changed, and lists
// them.
func (c *causes) release() []queue.Key {
	c.mu.Lock()
	defer c.mu.Unlock()
	keys := slices.Collect(maps.Keys(c.loops))
	for _, k := range keys {
		c.news[k] = &cause{others: true} // of whoever changed the rules
	}
	clear(c.loops)
	clear(c.progress)
	return keys
}

// begin notes that the pass is writing an object; the function that it returns, that
// this is over.
func (p *pass) begin(obj *unstructured.Unstructured) (end func()) {
	return p.causes.begin(identity.Of(obj), p.deed(obj))
}

func (p *pass) deed(obj *unstructured.Unstructured) *deed {
	return newDeed(p.key, apply.RefOf(obj).String(), p.history, len(p.desired))
}

// observe takes in the answer of a write, before which begin was called: as the newest
// knowledge of the object, and as a cause of what follows.
func (p *pass) observe(informer monitor.Key, obj *unstructured.Unstructured) {
	d := p.deed(obj)
	if informer == p.op.parentKey || p.op.looksBack.Load() || p.running.load().reads[informer.GVR] || p.history.of(p.key) >= trackedFrom {
		p.causes.did(identity.Of(obj), versionAt(obj), d, p.causes.digestFor(d, obj), p.options.Clock.Now())
	}
	p.monitors.Observe(informer, obj)
}

// deleted notes that the pass deleted an object.
func (p *pass) deleted(obj *unstructured.Unstructured) {
	p.causes.did(identity.Of(obj), version{uid: obj.GetUID()}, p.deed(obj), 0, p.options.Clock.Now())
}

// addPatches has the targets looked at of which the pass says something else now.
func (p *pass) addPatches(keys []queue.Key) {
	for _, k := range keys {
		p.causes.handOver(k, newDeed(p.key, "its part of patch "+k.Patch, p.history, 0), p.options.Clock.Now())
	}
	p.addKeys(keys)
}
