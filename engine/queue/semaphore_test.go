package queue

import "testing"

func TestSemaphore(t *testing.T) {
	s := NewSemaphore[string](1)
	if !s.TryAcquire("a") || s.TryAcquire("b") || s.TryAcquire("c") || s.TryAcquire("b") {
		t.Fatal("more than one key proceeds, or none")
	}
	s.Forget("nobody")
	if next, ok := s.Release(); !ok || next != "b" {
		t.Errorf("next is %q, want the first that waited", next)
	}
	if !s.TryAcquire("d") {
		t.Error("a key that is next and never comes keeps others from proceeding")
	}
	s.Forget("c")
	if next, ok := s.Release(); ok {
		t.Errorf("next is %q, want nobody: b had its turn, c was forgotten", next)
	}
}
