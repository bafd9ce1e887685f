package engine

import (
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/apply"
	"kanon.dev/kanon/engine/monitor"
	"kanon.dev/kanon/engine/queue"
)

const (
	// deedLife is how long it is known, at least, that Kanon made a version of an
	// object: as long as its event may take.
	deedLife = 30 * time.Second
	// maxNews bounds what is noted of the causes of one pass, and maxHistory of how
	// these came about. What is beyond is left out.
	maxNews    = 64
	maxHistory = 32
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
	writing map[identity]*deed
	// news has what woke each key since its last pass began.
	news map[queue.Key]*cause
	// loops has the keys that go round in one.
	loops map[queue.Key]*loop
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

// deed is a write, and what led to it.
type deed struct {
	key   queue.Key
	wrote apply.Ref
	why   *history
	// underway is how many writes of the object are on their way.
	underway int
}

func (d *deed) history() *history { return d.why.with(d.key, d.wrote.String()) }

// history is how a write came about: by which passes, as far as nothing but
// Kanon's own writes caused them.
type history struct {
	// turns counts the passes of each key; most histories have one.
	turns []turns
	// steps are the newest of them, the newest last.
	steps []step
}

type turns struct {
	key   queue.Key
	count int
}

// of is how many passes of a key are in the history.
func (h *history) of(k queue.Key) int {
	for _, t := range h.turns {
		if t.key == k {
			return t.count
		}
	}
	return 0
}

// add makes the passes of a key at least so many.
func (h *history) add(k queue.Key, count int) {
	for i := range h.turns {
		if h.turns[i].key == k {
			h.turns[i].count = max(h.turns[i].count, count)
			return
		}
	}
	h.turns = append(h.turns, turns{k, count})
}

// step is one pass in a history, and the object that it wrote.
type step struct {
	key   queue.Key
	wrote string
}

func newCauses() *causes {
	return &causes{
		deeds: make(map[version]*history), old: make(map[version]*history),
		writing: make(map[identity]*deed), news: make(map[queue.Key]*cause), loops: make(map[queue.Key]*loop),
	}
}

// begin notes that an object is being written; the function that it returns, that
// this is over.
func (c *causes) begin(id identity, d *deed) (end func()) {
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
		if now.underway--; now.underway == 0 {
			delete(c.writing, id)
		}
	}
}

// did notes that Kanon made a version of an object.
func (c *causes) did(v version, how *history, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rotateLocked(now)
	c.deeds[v] = how
}

// rotateLocked drops what is old.
func (c *causes) rotateLocked(now time.Time) {
	if now.Sub(c.rotated) < deedLife || len(c.deeds)+len(c.old) == 0 {
		return
	}
	c.old, c.deeds, c.rotated = c.deeds, make(map[version]*history), now
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
	if underway := c.writing[identityAt(obj)]; how == nil && underway != nil {
		how = underway.history()
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
	case how.of(k) >= maxTurns:
		in = newLoop(k, how)
		in.retreat.deepen(now, limit)
		c.loops[k] = in
	}
	return how, in, 0
}

// merge is what led to a pass of a key that several writes caused.
func merge(k queue.Key, deeds []*history) *history {
	how := &history{}
	for _, deed := range deeds {
		for _, t := range deed.turns {
			if t.count > 1 || t.key == k || len(how.turns) < maxHistory {
				how.add(t.key, t.count)
			}
		}
		if len(how.steps) == 0 || deed.of(k) > 0 && deed.steps[len(deed.steps)-1].key != k {
			how.steps = deed.steps // by way of others says more
		}
	}
	return how
}

// with is the history of a write that a pass of a key makes.
func (h *history) with(k queue.Key, wrote string) *history {
	next := &history{turns: slices.Clone(h.turns), steps: append(slices.Clone(h.steps), step{k, wrote})}
	next.add(k, h.of(k)+1)
	next.steps = next.steps[max(0, len(next.steps)-maxHistory):]
	return next
}

// forget drops what is known of a key.
func (c *causes) forget(k queue.Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.news, k)
	delete(c.loops, k)
}

func (c *causes) forgetRule(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.news, func(k queue.Key, _ *cause) bool { return k.Rule == id })
	maps.DeleteFunc(c.loops, func(k queue.Key, _ *loop) bool { return k.Rule == id })
}

func (c *causes) addKeys(rule string, found queue.Keys) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for k := range c.loops {
		if k.Rule == rule && k.Patch == "" {
			found[k] = true
		}
	}
}

// release lets all keys out of their loops, because rules have changed, and lists
// them.
func (c *causes) release() []queue.Key {
	c.mu.Lock()
	defer c.mu.Unlock()
	keys := slices.Collect(maps.Keys(c.loops))
	clear(c.loops)
	return keys
}

// begin notes that the pass is writing an object; the function that it returns, that
// this is over.
func (p *pass) begin(obj *unstructured.Unstructured) (end func()) {
	return p.causes.begin(identityOf(obj), p.deed(obj))
}

func (p *pass) deed(obj *unstructured.Unstructured) *deed {
	return &deed{key: p.key, wrote: apply.RefOf(obj), why: p.history}
}

// observe takes in the answer of a write, before which begin was called: as the newest
// knowledge of the object, and as a cause of what follows.
func (p *pass) observe(informer monitor.Key, obj *unstructured.Unstructured) {
	if informer == p.op.parentKey || p.op.looksBack.Load() || p.running.load().reads[informer.GVR] {
		p.causes.did(versionAt(obj), p.deed(obj).history(), p.options.Clock.Now())
	}
	p.monitors.Observe(informer, obj)
}

// deleted notes that the pass deleted an object.
func (p *pass) deleted(obj *unstructured.Unstructured) {
	p.causes.did(version{uid: obj.GetUID()}, p.deed(obj).history(), p.options.Clock.Now())
}

// addPatches has the targets looked at of which the pass says something else now.
func (p *pass) addPatches(keys []queue.Key) {
	for _, k := range keys {
		p.causes.hand(k, p.history.with(p.key, "its part of patch "+k.Patch))
	}
	p.addKeys(keys)
}
