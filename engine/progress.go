package engine

import (
	"hash/maphash"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine/apply"
	"kanon.dev/kanon/engine/queue"
	"kanon.dev/kanon/wire"
)

// A chain is a row of reconciles of which each was caused by what the one before wrote,
// and by nothing else. A rollout is one, and so is a state machine: these end. Two rules
// that set a value to and fro are one that does not. What tells them apart is the state
// of what is written: in a chain that gets anywhere, each reconcile brings the objects
// into a state in which they were not before.
//
// A counter gets somewhere with every reconcile and never ends. So a chain that is much
// longer than what the rule has to do counts as a loop, too.

const (
	// maxIdle is how many reconciles of a key in a chain may write nothing but what
	// brings back states that were there before. Those that write nothing do not count.
	maxIdle = 20
	// maxTurns is how many reconciles of a key a chain may have at all, and
	// turnsPerObject how many more for each object that the rule has for the parent. A
	// rollout takes two or three for an object: to delete it, to make it, and to say so.
	maxTurns       = 300
	turnsPerObject = 10
	// trackedFrom is the turn from which on states are remembered. Most chains end
	// before, and cost nothing.
	trackedFrom = 2
)

// progress is what one key has written in a chain.
type progress struct {
	// contents has the content that each object was written with last, and state is all
	// of them in one. Objects and contents are hashes.
	contents map[uint64]uint64
	state    uint64
	// states are those that there were.
	states map[uint64]struct{}
	// advanced is true when a state was new since the last reconcile began.
	advanced bool
	// known is the progress of the whole chain that the last reconcile knew of, and since
	// the turn of the key at which that was more than before.
	known, since int
	// objects is how many objects the rule has for the parent.
	objects int
	// active is when the chain went on last.
	active time.Time
}

func newProgress() *progress {
	return &progress{contents: make(map[uint64]uint64), states: make(map[uint64]struct{})}
}

// put takes in that an object was written, and tells whether that is a new state. Each
// object's part of the state is a hash of the object and its content.
func (p *progress) put(seed maphash.Seed, object, content uint64) (isNew bool) {
	if before, ok := p.contents[object]; ok {
		p.state ^= maphash.Comparable(seed, [2]uint64{object, before})
	}
	p.contents[object] = content
	p.state ^= maphash.Comparable(seed, [2]uint64{object, content})
	if _, known := p.states[p.state]; known {
		return false
	}
	p.states[p.state] = struct{}{}
	p.advanced = true
	return true
}

// begin takes in that a reconcile begins, which is so many turns of the key after the
// beginning of its chain, and knows of so much progress of anybody in it.
func (p *progress) begin(turn, known int, now time.Time) {
	if p.advanced || known > p.known {
		p.since = turn
	}
	p.advanced, p.known, p.active = false, max(p.known, known), now
}

// loopKind says what is wrong with a chain.
type loopKind int

const (
	noLoop   loopKind = iota
	cycling           // states come back
	counting          // it goes on for too long, although they do not
)

// judge tells whether a chain that leads to a reconcile of a key is a loop.
func (p *progress) judge(k queue.Key, how *history) loopKind {
	switch turn := how.of(k); {
	case turn-p.since >= maxIdle:
		return cycling
	case turn >= maxTurns+turnsPerObject*p.objects:
		return counting
	default:
		return how.joins // a loop that was found with another key
	}
}

// judgeLocked begins a reconcile of a key in its chain, and gives the loop that it is in;
// nil where there is none.
func (c *causes) judgeLocked(k queue.Key, how *history, now time.Time) *loop {
	it := c.progress[k]
	if it == nil || how.of(k) == 0 {
		return nil
	}
	it.begin(how.of(k), how.progress, now)
	kind := it.judge(k, how)
	if kind == noLoop {
		return nil
	}
	return newLoop(k, how, kind)
}

// trackLocked is the progress of a key; nil while its chain is short.
func (c *causes) trackLocked(k queue.Key, how *history, now time.Time) *progress {
	if how.of(k) < trackedFrom {
		return nil
	}
	it := c.progress[k]
	if it == nil {
		it = newProgress()
		c.progress[k] = it
	}
	it.active = now
	return it
}

// sweepProgressLocked drops the progress of chains that have ended: nothing that goes on
// in one is older than what is known of writes.
func (c *causes) sweepProgressLocked(now time.Time) {
	maps.DeleteFunc(c.progress, func(k queue.Key, it *progress) bool {
		return c.loops[k] == nil && now.Sub(it.active) > 2*deedLife
	})
}

// digest is a hash of what an object is, without what changes with every write of it and
// says nothing of its state.
func (c *causes) digest(obj *unstructured.Unstructured) uint64 {
	text, err := wire.AppendJSON(nil, stateOf(obj))
	if err != nil {
		return maphash.String(c.seed, obj.GetResourceVersion()) // a state of its own
	}
	return maphash.Bytes(c.seed, text)
}

// stateOf is an object without its version and its times. An object that was deleted and
// made anew as it was is in the same state.
func stateOf(obj *unstructured.Unstructured) map[string]any {
	state := maps.Clone(obj.Object)
	metadata, _ := state["metadata"].(map[string]any)
	kept := make(map[string]any)
	for _, field := range []string{"labels", "annotations", "finalizers", "ownerReferences"} {
		if value, ok := metadata[field]; ok {
			kept[field] = value
		}
	}
	if annotations, ok := kept["annotations"].(map[string]any); ok {
		annotations = maps.Clone(annotations)
		delete(annotations, apply.AnnotationRecreated)
		kept["annotations"] = annotations
	}
	state["metadata"] = kept
	status, ok := state["status"].(map[string]any)
	if !ok {
		return state
	}
	status = maps.Clone(status)
	delete(status, "observedGeneration")
	if conditions, ok := status["conditions"].([]any); ok {
		status["conditions"] = withoutDates(conditions)
	}
	state["status"] = status
	return state
}

// withoutDates are conditions without what says when they came about.
func withoutDates(conditions []any) []any {
	kept := slices.Clone(conditions)
	for i, item := range kept {
		if condition, ok := item.(map[string]any); ok {
			condition = maps.Clone(condition)
			for _, field := range []string{"lastTransitionTime", "lastUpdateTime", "lastHeartbeatTime", "observedGeneration"} {
				delete(condition, field)
			}
			kept[i] = condition
		}
	}
	return kept
}
