package celenv

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

var (
	// ErrCostLimit is the error of an evaluation that costs more than the limit of one expression.
	ErrCostLimit = errors.New("the expression costs more than the limit")
	// ErrBudget is the error of an evaluation that costs more than its Budget has left.
	ErrBudget = errors.New("the expressions cost more than the limit together")
	// ErrDeadline is the error of an evaluation that exceeds the Time of its Budget.
	ErrDeadline = errors.New("the expressions take longer than the limit")
	// ErrInterrupted is the error of an evaluation whose context is done.
	ErrInterrupted = errors.New("the evaluation was interrupted")
)

// Budget limits the cost, time and memory of several evaluations together. It is not safe for concurrent use.
type Budget struct {
	// Cost is the remaining cost, in units of the meter.
	Cost uint64
	// Memory counts the bytes of values.
	Memory Memory
	// Time is how long all evaluations after Restart may take together. It starts with the first evaluation that could
	// take long. 0 means no limit.
	Time time.Duration

	deadline time.Time
	// decoded caches decoded base64.
	decoded map[string]types.Bytes
}

// Restart resets the time for the evaluations that follow.
func (b *Budget) Restart() { b.deadline = time.Time{} }

// start starts the time, if it has not started.
func (b *Budget) start() {
	if b.Time > 0 && b.deadline.IsZero() {
		b.deadline = time.Now().Add(b.Time)
	}
}

// Overdue reports whether the time is over. The first call starts the time if no evaluation has.
func (b *Budget) Overdue() bool {
	b.start()
	return !b.deadline.IsZero() && time.Now().After(b.deadline)
}

// stopError is the panic that ends an evaluation.
type stopError struct{ error }

func (e stopError) Unwrap() error { return e.error }

// Decode decodes base64. It decodes the same text once and shares the bytes, so that a loop cannot fill the memory with
// copies.
func (b *Budget) Decode(text string) ref.Val {
	if data, ok := b.decoded[text]; ok {
		return data
	}
	val := Decode(text)
	data, ok := val.(types.Bytes)
	if !ok {
		return val
	}
	if err := b.Memory.Take(ValueBytes + EntryBytes + int64(len(data))); err != nil {
		panic(stopError{err})
	}
	if b.decoded == nil {
		b.decoded = make(map[string]types.Bytes)
	}
	b.decoded[text] = data
	return data
}

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
		m.held = Retained(val, m.own)
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

// PartBytes is the approximate size of a JSON value in an object, with its key.
const PartBytes = 64
