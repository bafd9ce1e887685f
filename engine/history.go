package engine

import (
	"cmp"
	"slices"

	"kanon.dev/kanon/engine/queue"
)

// maxHistory bounds how many keys a history knows, and how many of its steps.
const maxHistory = 32

// deed is a write, and what led to it.
type deed struct {
	key queue.Key
	// why is what led to the pass that writes, and made what the write leads to.
	why, made *history
	// objects is how many objects the rule has for the parent, as far as is known.
	objects int
	// underway is how many writes of the object are on their way.
	underway int
}

func newDeed(k queue.Key, wrote string, why *history, objects int) *deed {
	return &deed{key: k, why: why, made: why.with(k, wrote), objects: objects}
}

// history is how a write came about: by which passes, as far as nothing but
// Kanon's own writes caused them.
type history struct {
	// turns counts the passes of each key, those that came last at the end; most
	// histories have one.
	turns []turns
	// steps are the newest of them, the newest last.
	steps []step
	// progress counts the writes that brought an object into a new state; see progress.
	// Of a history that a write leads to it is guarded by the mutex of causes.
	progress int
	// loop is not nil where the pass that writes is one of a loop, and joins says of which
	// kind it is where the key whose pass comes of that write is in it, too.
	loop  *loop
	joins loopKind
}

type turns struct {
	key   queue.Key
	count int
}

// step is one pass in a history, and the object that it wrote.
type step struct {
	key   queue.Key
	wrote string
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

// with is the history of a write that a pass of a key makes.
func (h *history) with(k queue.Key, wrote string) *history {
	count := h.of(k)
	next := &history{turns: make([]turns, 0, len(h.turns)+1), progress: h.progress, loop: h.loop}
	for _, t := range h.turns {
		if t.key != k {
			next.turns = append(next.turns, t)
		}
	}
	next.turns = append(next.turns, turns{k, count + 1})
	steps := h.steps[max(0, len(h.steps)-maxHistory+1):]
	next.steps = append(append(make([]step, 0, len(steps)+1), steps...), step{k, wrote})
	if count < trackedFrom {
		next.progress++ // what a key writes first was not there before
	}
	return next
}

// merge is what led to a pass of a key that several writes caused.
func merge(k queue.Key, deeds []*history) *history {
	how := &history{}
	for _, deed := range deeds {
		for _, t := range deed.turns {
			how.add(t.key, t.count)
		}
		if len(how.steps) == 0 || deed.of(k) > 0 && deed.steps[len(deed.steps)-1].key != k {
			how.steps = deed.steps // by way of others says more
		}
		how.progress = max(how.progress, deed.progress)
		if deed.loop != nil && deed.of(k) > deed.loop.found.of(k) {
			how.joins = max(how.joins, deed.loop.kind)
		}
	}
	how.trim(k)
	return how
}

// trim leaves out keys of a long history. A loop among few keys is made of those that came
// last, and one among many shows in those with the most passes, of which the first stay
// where there are as many of others.
func (h *history) trim(k queue.Key) {
	if len(h.turns) <= maxHistory {
		return
	}
	last := len(h.turns) - maxHistory/2
	most := slices.Clone(h.turns[:last])
	slices.SortStableFunc(most, func(a, b turns) int {
		switch k {
		case a.key:
			return -1
		case b.key:
			return 1
		}
		return cmp.Compare(b.count, a.count)
	})
	least := make(map[queue.Key]bool)
	for _, t := range most[maxHistory/2:] {
		least[t.key] = true
	}
	h.turns = slices.DeleteFunc(h.turns, func(t turns) bool { return least[t.key] })
}
