package engine_test

import (
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sync/semaphore"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine"
	"kanon.dev/kanon/rules"
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

// tight is what a world has with little memory for all evaluations.
func tight(size int64, memory rules.Account) func(*engine.Options) {
	return func(o *engine.Options) { o.Limits, o.Memory = rules.Limits{ReconcileBytes: size}, memory }
}

// thousand is a text for which an evaluation asks for memory that all share.
var thousand = `"${string(lists.range(1000).map(x, '` + strings.Repeat("x", 1000) + `').join().size())}"`

// An evaluation for which there is no memory, because others hold it, is tried again
// with as much as it can need, and nobody is told.
func TestEvaluationsShareMemory(t *testing.T) {
	t.Parallel()
	const size = 4 << 20
	memory := &scarceMemory{Weighted: semaphore.NewWeighted(size)}
	w := newWorld(t)
	w.define("Note")
	w.rule("note", note(thousand))
	w.run(tight(size, memory))
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
	const size = 4 << 20
	w := newWorld(t)
	w.define("Note")
	w.rule("note", strings.Replace(note(thousand), "spec:\n", "spec:\n  minInterval: 1h\n", 1))
	w.run(tight(size, &scarceMemory{Weighted: semaphore.NewWeighted(size)}))
	w.parent("Note", "n", "{}")
	w.await(configMaps, w.home, "n", "is made", has("1000000", "data", "text"))
}
