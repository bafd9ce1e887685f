package engine_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sync/semaphore"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/rules/program"
)

// scarceMemory has nothing for the first who ask, and counts those who wait.
type scarceMemory struct {
	*semaphore.Weighted
	refused, returned atomic.Int64
}

func (m *scarceMemory) TryAcquire(n int64) bool {
	if m.refused.Add(1) <= 3 {
		return false
	}
	return m.Weighted.TryAcquire(n)
}

func (m *scarceMemory) Release(n int64) {
	m.returned.Add(n)
	m.Weighted.Release(n)
}

// scarce is how much memory there is in these tests: as much as one evaluation may need.
const scarce = 4 << 20

// tight is what a world has with little memory for all evaluations.
func tight(memory program.Account) func(*engine.Options) {
	return func(o *engine.Options) { o.Limits, o.Memory = program.Limits{ReconcileBytes: scarce}, memory }
}

// thousand is a text for which an evaluation asks for memory that all share.
var thousand = `"${string(lists.range(1000).map(x, '` + strings.Repeat("x", 1000) + `').join().size())}"`

// spentMemory is memory that somebody else has, and tells when it is asked for.
type spentMemory struct {
	*semaphore.Weighted
	asked chan struct{}
}

func spent(t *testing.T) spentMemory {
	t.Helper()
	m := spentMemory{Weighted: semaphore.NewWeighted(scarce), asked: make(chan struct{}, 1000)}
	if !m.Weighted.TryAcquire(scarce) {
		t.Fatal("there is none")
	}
	return m
}

func (m spentMemory) TryAcquire(n int64) bool {
	defer m.tell()
	return m.Weighted.TryAcquire(n)
}

func (m spentMemory) Acquire(ctx context.Context, n int64) error {
	m.tell()
	return m.Weighted.Acquire(ctx, n) //nolint:wrapcheck // As the one that is embedded.
}

func (m spentMemory) tell() {
	select {
	case m.asked <- struct{}{}:
	default: // nobody needs so many
	}
}

// awaitAsked waits until the memory was asked for a number of times.
func (m spentMemory) awaitAsked(w *world, times int) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	for range times {
		select {
		case <-m.asked:
		case <-ctx.Done():
			w.t.Fatal("the memory is not asked for")
		}
	}
}

// An evaluation for which there is no memory, because others hold it, is tried again
// with as much as it can need, and nobody is told.
func TestEvaluationsShareMemory(t *testing.T) {
	t.Parallel()
	memory := &scarceMemory{Weighted: semaphore.NewWeighted(scarce)}
	w := newWorld(t, "Note")
	w.rule("note", note(thousand))
	w.run(tight(memory))
	for _, name := range []string{"a", "b", "c", "d"} {
		w.parent("Note", name, "{}")
	}
	for _, name := range []string{"a", "b", "c", "d"} {
		live := w.await(w.resource("Note"), w.home, name, "has its verdict", func(obj *unstructured.Unstructured) bool {
			return isTrue("Ready")(obj) || isTrue("Stalled")(obj)
		})
		if isTrue("Stalled")(live) {
			t.Errorf("%s is stalled: %v", name, live.Object["status"])
		}
		w.await(configMaps, w.home, name, "is made", has("1000000", "data", "text"))
	}
	if n := memory.refused.Load(); n < 3 {
		t.Errorf("memory was asked for %d times", n)
	}
	if memory.returned.Load() == 0 {
		t.Error("nothing was returned")
	}
}

// A reconcile that ended for want of memory does not count: the next one does not wait for
// minInterval.
func TestStarvedReconcileDoesNotCount(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	w.rule("note", strings.Replace(note(thousand), "spec:\n", "spec:\n  minInterval: 1h\n", 1))
	w.run(tight(&scarceMemory{Weighted: semaphore.NewWeighted(scarce)}))
	w.parent("Note", "n", "{}")
	w.await(configMaps, w.home, "n", "is made", has("1000000", "data", "text"))
}

// Evaluations that wait for memory leave the workers to those that need none, and all get
// it in the end.
func TestStarvedEvaluationsLeaveTheWorkers(t *testing.T) {
	t.Parallel()
	const workers = 4
	memory := spent(t)
	w := newWorld(t, "Note", "Memo")
	w.rule("note", note(thousand))
	w.rule("memo", strings.NewReplacer("Note", "Memo", "name: note", "name: memo").Replace(note("small")))
	w.run(tight(memory), func(o *engine.Options) { o.Workers = workers })
	names := []string{"a", "b", "c", "d", "e", "f"}
	for _, name := range names {
		w.parent("Note", name, "{}")
	}
	memory.awaitAsked(w, len(names)+workers) // each has starved, and as many ask again as there are workers
	w.parent("Memo", "small", "{}")
	w.await(configMaps, w.home, "small", "is made", has("small", "data", "text"))
	memory.Release(scarce)
	for _, name := range names {
		w.await(configMaps, w.home, name, "is made", has("1000000", "data", "text"))
	}
}

// What becomes of the children of a parent that is being deleted is not decided while
// there is no memory for that, and no worker waits for it.
func TestStarvedDecisionDeletesNothing(t *testing.T) {
	t.Parallel()
	const workers = 2
	memory := spent(t)
	memory.Release(scarce)
	w := newWorld(t, "Note", "Memo")
	w.rule("note", strings.NewReplacer(
		"spec:\n", "spec:\n  minInterval: 1h\n", // so that what the parent says last is not written
		"    template:", "    deletionPolicy: {whenDeleted: \"${parent.spec.?keep.orValue(false) ? 'Orphan' : 'Delete'}\"}\n    template:",
	).Replace(note(thousand)))
	w.rule("memo", strings.NewReplacer("Note", "Memo", "name: note", "name: memo").Replace(note("small")))
	w.run(tight(memory), func(o *engine.Options) { o.Workers = workers })
	names := []string{"a", "b", "c"}
	for _, name := range names {
		w.parent("Note", name, "{}")
	}
	for _, name := range names {
		w.await(w.resource("Note"), w.home, name, "is ready", isTrue("Ready"))
	}
	w.quiet()
	if !memory.Weighted.TryAcquire(scarce) {
		t.Fatal("a worker has memory at rest")
	}
	for len(memory.asked) > 0 {
		<-memory.asked
	}
	for _, name := range names {
		w.update(w.resource("Note"), w.home, name, func(live *unstructured.Unstructured) {
			live.Object["spec"] = map[string]any{"keep": true}
		})
		w.delete(w.resource("Note"), w.home, name)
	}
	memory.awaitAsked(w, 2*len(names)) // each has starved, and asks again
	w.parent("Memo", "small", "{}")
	w.await(configMaps, w.home, "small", "is made", has("small", "data", "text"))
	memory.Release(scarce)
	for _, name := range names {
		w.awaitGone(w.resource("Note"), w.home, name)
		w.await(configMaps, w.home, name, "is let go", func(obj *unstructured.Unstructured) bool {
			_, owned := obj.GetAnnotations()[mark.AnnotationOwner]
			return !owned
		})
	}
}
