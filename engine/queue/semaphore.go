package queue

import (
	"slices"
	"sync"
)

// Semaphore lets a few keys proceed at a time. It never blocks: a key that must wait is put in a line, and whoever
// releases the semaphore learns which key is next, to enqueue it. Make it with NewSemaphore.
type Semaphore[K comparable] struct {
	size int

	mu sync.Mutex
	// acquired is how many keys proceed now. line has the keys that wait, the first one first. Guarded by mu.
	acquired int
	line     []K
}

// NewSemaphore lets size keys proceed at a time.
func NewSemaphore[K comparable](size int) *Semaphore[K] { return &Semaphore[K]{size: size} }

// TryAcquire reports whether a key may proceed now. If not, the key waits in the line.
func (s *Semaphore[K]) TryAcquire(k K) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := slices.Index(s.line, k)
	if s.acquired >= s.size {
		if at < 0 {
			s.line = append(s.line, k)
		}
		return false
	}
	if at >= 0 {
		s.line = slices.Delete(s.line, at, at+1)
	}
	s.acquired++
	return true
}

// Release ends what TryAcquire began, and returns the next key, which has left the line: if that key never comes back
// because its work is no longer needed, it blocks no other key.
func (s *Semaphore[K]) Release() (next K, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.acquired--
	if len(s.line) == 0 {
		return next, false
	}
	next = s.line[0]
	s.line = slices.Delete(s.line, 0, 1)
	return next, true
}

// Forget removes a key from the line.
func (s *Semaphore[K]) Forget(k K) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at := slices.Index(s.line, k); at >= 0 {
		s.line = slices.Delete(s.line, at, at+1)
	}
}
