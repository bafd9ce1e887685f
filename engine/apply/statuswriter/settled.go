package statuswriter

import (
	"hash/maphash"
	"sync"

	"kanon.dev/kanon/engine/apply/fieldset"
)

// Most reconciles find the status in place, and comparing it is a large part of a reconcile that writes nothing.
// Whether it is in place depends only on the content, the status of the object, the manager's entry and the schema.
// So the results are cached by a hash of these, and need no invalidation when a parent goes.

// settled caches which statuses are in place. Its size is fixed; with more parents than slots, some statuses are
// compared again.
type settled struct {
	mu sync.Mutex
	// slots has each result at the index given by its hash. Guarded by mu.
	slots [1 << 13]fieldset.Source
}

func (s *settled) has(of fieldset.Source) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.slots[of.Hash%uint64(len(s.slots))] == of
}

func (s *settled) add(of fieldset.Source) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.slots[of.Hash%uint64(len(s.slots))] = of
}

// sourceOf identifies everything that IsInPlace depends on; ok is false if it cannot be determined.
func (w *Writer) sourceOf(k fieldset.Kind, s Status) (of fieldset.Source, ok bool) {
	var paths string
	if e, has := s.entry(); has {
		var err error
		if paths, err = e.Text(); err != nil {
			return fieldset.Source{}, false
		}
	}
	h := fieldset.Hasher{Seed: w.seed}
	sum := h.Join(h.Value(s.Content), h.Value(s.Object.Object["status"]))
	sum = h.Join(sum, maphash.Comparable(h.Seed, [...]string{paths, s.Object.GetAPIVersion(), s.Object.GetKind()}))
	return fieldset.Source{Hash: sum, Converter: k.Converter}, true
}
