package run

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/google/cel-go/common/types/ref"

	"kanon.dev/kanon/rules/celenv/value"
)

var (
	// ErrMemory is what an evaluation ends with whose values need more bytes than the
	// limit of its Memory.
	ErrMemory = errors.New("the values need more memory than the limit")
	// ErrSharedMemory is what an evaluation ends with when all evaluations together
	// need more bytes than their Account has. It is no fault of the expression.
	ErrSharedMemory = errors.New("the evaluations of all rules together need more memory than there is")
)

// Account is the memory that all evaluations share, in bytes.
// *semaphore.Weighted of golang.org/x/sync implements it.
type Account interface {
	// TryAcquire takes n bytes, or tells at once that there are not as many.
	TryAcquire(n int64) bool
	// Acquire waits for n bytes until ctx ends. Those who wait go before every
	// TryAcquire.
	Acquire(ctx context.Context, n int64) error
	// Release returns n bytes.
	Release(n int64)
}

const (
	// freeMemory is how many bytes an evaluation may hold without asking the Account:
	// most never do.
	freeMemory = 256 << 10
	// memoryChunk is how many bytes it asks for at a time.
	memoryChunk = 1 << 20
)

// Memory counts the bytes of the values that one evaluation of a rule makes and
// holds. The zero value has no limit. It is not safe for concurrent use.
//
// The count is an upper bound of what is held, not of what is allocated: what an
// expression made on its way is not counted any more once it has its value.
type Memory struct {
	// Limit is the most bytes. 0: any number.
	Limit int64
	// Shared is what evaluations hold together. nil: any number.
	Shared Account

	used int64
	// own is the part of used that the expression that runs has made so far, and last
	// what the value of the one that ran last holds.
	own, held int64
	// made is all that expressions have made, with what is not held any more.
	made int64
	// granted is what Shared gave, in bytes.
	granted int64
}

// Take counts n bytes that a value needs. The error, ErrMemory or ErrSharedMemory,
// means that there are not as many; nothing is counted then.
func (m *Memory) Take(n int64) error {
	used := m.used + n
	if m.Limit > 0 && used > m.Limit {
		return ErrMemory
	}
	if used > freeMemory && m.Shared != nil && used > m.granted {
		if err := m.grow(used); err != nil {
			return err
		}
	}
	m.used = used
	return nil
}

func (m *Memory) grow(used int64) error {
	missing := used - m.granted
	chunks := (missing + memoryChunk - 1) / memoryChunk * memoryChunk
	if !m.Shared.TryAcquire(chunks) {
		return ErrSharedMemory
	}
	m.granted += chunks
	return nil
}

// Reserve waits for as many bytes as the evaluation may need at the most, so that it
// does not end with ErrSharedMemory. It must be called before anything is evaluated:
// one who holds bytes and waits for more could wait for ever.
func (m *Memory) Reserve(ctx context.Context) error {
	if m.Shared == nil || m.Limit == 0 || m.granted > 0 {
		return nil
	}
	if err := m.Shared.Acquire(ctx, m.Limit); err != nil {
		return fmt.Errorf("wait for memory to evaluate a rule: %w", err)
	}
	m.granted = m.Limit
	return nil
}

// TryReserve is Reserve that does not wait: it reports whether there are as many bytes.
func (m *Memory) TryReserve() bool {
	if m.Shared == nil || m.Limit == 0 || m.granted > 0 {
		return true
	}
	if !m.Shared.TryAcquire(m.Limit) {
		return false
	}
	m.granted = m.Limit
	return true
}

// Close returns all bytes to the shared Account. Nothing may be evaluated afterwards.
func (m *Memory) Close() {
	if m.granted > 0 {
		m.Shared.Release(m.granted)
	}
	m.granted, m.used = 0, 0
}

// Used is how many bytes are counted.
func (m *Memory) Used() int64 { return m.used }

// add counts bytes that the expression that runs has made, and ends it where there
// are not as many.
func (m *Memory) add(n int64) {
	if err := m.Take(n); err != nil {
		panic(stopError{err})
	}
	m.own += n
	m.made += n
}

// begin is called before an expression runs; what it gives goes to end afterwards.
func (m *Memory) begin() (outer int64) {
	outer, m.own = m.own, 0
	return outer
}

// end counts of what the expression made only what its value holds. nil: it has none.
func (m *Memory) end(val ref.Val, outer int64) {
	m.held = 0
	if m.own > 0 {
		m.held = value.Held(val, m.own)
		m.used -= m.own - m.held
	}
	m.own = outer
}

// Held is how many bytes the value of the expression that ran last holds of those that
// it has made.
func (m *Memory) Held() int64 { return m.held }

// Return takes back what was counted by Take, or what a value has kept.
func (m *Memory) Return(n int64) { m.used = max(m.used-n, 0) }

// Parts is for how many values of JSON there are bytes.
func (m *Memory) Parts() int {
	if m.Limit == 0 {
		return math.MaxInt
	}
	return int(max(m.Limit-m.used, 0) / PartBytes)
}

// PartBytes is about what a value of JSON takes in an object, with its key.
const PartBytes = 64
