package engine

import (
	"maps"
	"sync"

	"kanon.dev/kanon/engine/queue"
)

// perKey has a value for each key of which something is known.
type perKey[V any] struct {
	isEmpty func(*V) bool

	mu sync.Mutex
	// of never has an empty value. Guarded by mu, with all values.
	of map[queue.Key]*V
}

func newPerKey[V any](isEmpty func(*V) bool) *perKey[V] {
	return &perKey[V]{isEmpty: isEmpty, of: make(map[queue.Key]*V)}
}

// with calls do, which must be quick, with the value of a key. Nobody else has the value meanwhile.
func (s *perKey[V]) with(k queue.Key, do func(*V)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.of[k]
	if v == nil {
		v = new(V)
	}
	if do(v); s.isEmpty(v) {
		delete(s.of, k)
		return
	}
	s.of[k] = v
}

// each is with for all keys that have a value.
func (s *perKey[V]) each(do func(queue.Key, *V)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.of, func(k queue.Key, v *V) bool { do(k, v); return s.isEmpty(v) })
}

func (s *perKey[V]) Forget(k queue.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.of, k)
}

func (s *perKey[V]) ForgetRule(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.of, func(k queue.Key, _ *V) bool { return k.Rule == id })
}

func (s *perKey[V]) AddKeys(rule string, found queue.Keys) {
	s.mu.Lock()
	defer s.mu.Unlock()
	queue.AddOf(s.of, rule, found)
}
