package fieldset

import "sync"

// bounded is a cache of a limited number of entries. If it is full, a random one makes room, so that more entries than
// fit, used in turn, still profit. It is safe for concurrent use, and its zero value is empty.
type bounded[K comparable, V any] struct {
	mu      sync.Mutex
	entries map[K]V // guarded by mu
}

func (b *bounded[K, V]) get(key K) (V, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	value, ok := b.entries[key]
	return value, ok
}

// put adds an entry, of which there are at most so many then.
func (b *bounded[K, V]) put(key K, value V, most int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.entries == nil {
		b.entries = make(map[K]V)
	}
	for other := range b.entries { // in random order
		if len(b.entries) < most {
			break
		}
		delete(b.entries, other)
	}
	b.entries[key] = value
}
