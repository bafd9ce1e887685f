package run

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/google/cel-go/common/types/ref"

	"kanon.dev/kanon/rules/celenv"
)

var (
	// ErrMemory is the error of an evaluation whose values need more bytes than the limit of its Memory.
	ErrMemory = errors.New("the values need more memory than the limit")
	// ErrSharedMemory is the error of an evaluation if all evaluations together need more bytes than their Account has.
	// The expression is not at fault.
	ErrSharedMemory = errors.New("the evaluations of all rules together need more memory than there is")
)

// Account is the memory that all evaluations share, in bytes. *semaphore.Weighted of golang.org/x/sync implements it.
type Account interface {
	// TryAcquire takes n bytes, or returns false at once.
	TryAcquire(n int64) bool
	// Acquire waits for n bytes until ctx is done. It takes precedence over every TryAcquire.
	Acquire(ctx context.Context, n int64) error
	// Release returns n bytes.
	Release(n int64)
}

const (
	// freeMemory is how many bytes an evaluation may use without asking the Account. Most evaluations need no more.
	freeMemory = 256 << 10
	// memoryChunk is how many bytes an evaluation takes from the Account at a time.
	memoryChunk = 1 << 20
)

// Memory counts the bytes of the values that one evaluation of a rule makes and keeps. The zero value has no limit. It
// is not safe for concurrent use.
//
// The count is an upper bound of the memory in use, not of all allocations: when an expression has its value, its
// intermediate values are no longer counted.
type Memory struct {
	// Limit is the maximum; 0 means no limit.
	Limit int64
	// Shared is the memory of all evaluations; nil means no limit.
	Shared Account

	used int64
	// own is the part of used that the running expression has made so far. held is what the value of the last expression
	// occupies of that.
	own, held int64
	// made is the sum of all bytes that expressions made, including those no longer in use.
	made int64
	// granted is how many bytes were taken from Shared.
	granted int64
}

// Take counts n bytes that a value needs. If they exceed a limit, it counts nothing and returns ErrMemory or
// ErrSharedMemory.
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

// Reserve waits for as many bytes as the evaluation may use, so that it cannot end with ErrSharedMemory. Call it before
// anything is evaluated: evaluations that wait for more while they have some could deadlock.
func (m *Memory) Reserve(ctx context.Context) error {
	if m.TryReserve() {
		return nil
	}
	if err := m.Shared.Acquire(ctx, m.Limit); err != nil {
		return fmt.Errorf("wait for memory to evaluate a rule: %w", err)
	}
	m.granted = m.Limit
	return nil
}

// TryReserve is Reserve without waiting. It reports whether there were enough bytes.
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

// Used returns how many bytes are counted.
func (m *Memory) Used() int64 { return m.used }

// add counts bytes that the running expression made. It ends the evaluation if they exceed a limit.
func (m *Memory) add(n int64) {
	if err := m.Take(n); err != nil {
		panic(stopError{err})
	}
	m.own += n
	m.made += n
}

// begin is called before an expression runs. Its result must be passed to end afterwards.
func (m *Memory) begin() (outer int64) {
	outer, m.own = m.own, 0
	return outer
}

// end reduces the count of the expression to the bytes that its value occupies. val is nil if it has no value.
func (m *Memory) end(val ref.Val, outer int64) {
	m.held = 0
	if m.own > 0 {
		m.held = celenv.Retained(val, m.own)
		m.used -= m.own - m.held
	}
	m.own = outer
}

// Retained returns how many of the bytes that the last expression made its value occupies.
func (m *Memory) Retained() int64 { return m.held }

// Return uncounts bytes that Take counted, or that a value occupied.
func (m *Memory) Return(n int64) { m.used = max(m.used-n, 0) }

// Parts returns for how many JSON values there are bytes left.
func (m *Memory) Parts() int {
	if m.Limit == 0 {
		return math.MaxInt
	}
	return int(max(m.Limit-m.used, 0) / PartBytes)
}

// PartBytes is the approximate size of a JSON value in an object, with its key: a map of three texts takes some 400 bytes.
const PartBytes = 128
