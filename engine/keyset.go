package engine

import (
	"maps"
	"sync"

	"kanon.dev/kanon/engine/queue"
)

// keySet is a set of keys. It is safe for concurrent use.
type keySet struct {
	mu   sync.Mutex
	keys queue.Keys // guarded by mu
}

func newKeySet() *keySet { return &keySet{keys: make(queue.Keys)} }

func (s *keySet) set(k queue.Key, isIn bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if isIn {
		s.keys[k] = true
	} else {
		delete(s.keys, k)
	}
}

func (s *keySet) has(k queue.Key) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.keys[k]
}

func (s *keySet) forget(k queue.Key) { s.set(k, false) }

func (s *keySet) addKeys(rule string, found queue.Keys) {
	s.mu.Lock()
	defer s.mu.Unlock()
	queue.AddOf(s.keys, rule, found)
}

func (s *keySet) forgetRule(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.keys, func(k queue.Key, _ bool) bool { return k.Rule == id })
}
