package celenv

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
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

// PartBytes is the approximate size of a JSON value in an object, with its key: a map of three texts takes some 400 bytes.
const PartBytes = 128

// meter counts the cost of one evaluation. cel-go's own tracker has a stack of values that grows with every iteration
// of a loop and is searched at every iteration, so it costs more than the loop itself. The units are close to CEL's:
// one for a call, a literal list or map and an iteration of a loop, and one for every ten bytes of text, or every item
// of a list, that a call returns. Scanning text is free, since time is bounded too; Kanon's own functions, which do
// more with it, charge for what they read (Function.Cost).
type meter struct {
	ctx         context.Context //nolint:containedctx // the context of the call of Eval that the meter is for; may be nil
	budget      *Budget
	cost, limit uint64
	// nextCheck is the cost at which the clock and the context are checked again.
	nextCheck uint64
}

// checkEvery is how many units pass between two checks of the clock. A check takes less time than one unit. In so many
// units, calls that scan a long text for free take some tens of milliseconds.
const checkEvery = 50

// charge adds to the cost. It panics, to end the evaluation, if it costs too much or its time is over; recovered
// catches the panic. There is no other way out of a loop that absorbs errors.
func (m *meter) charge(units uint64) {
	m.cost += units
	switch {
	case m.cost > m.limit:
		panic(stopError{fmt.Errorf("%w of %d", ErrCostLimit, m.limit)})
	case m.budget != nil && m.cost > m.budget.Cost:
		panic(stopError{ErrBudget})
	case m.cost >= m.nextCheck:
		m.checkTime()
	}
}

// checkTime ends the evaluation if its time is over or its context is done.
func (m *meter) checkTime() {
	m.nextCheck = m.cost + checkEvery
	if b := m.budget; b != nil && !b.deadline.IsZero() && time.Now().After(b.deadline) {
		panic(stopError{ErrDeadline})
	}
	if m.ctx != nil && m.ctx.Err() != nil {
		panic(stopError{fmt.Errorf("%w: %w", ErrInterrupted, context.Cause(m.ctx))})
	}
}

// settle subtracts the cost from the budget.
func (m *meter) settle() {
	if m.budget != nil {
		m.budget.Cost -= min(m.cost, m.budget.Cost)
	}
}

// DefaultCostLimit is the maximum cost of one evaluation of one expression: some hundred thousand iterations of a loop.
const DefaultCostLimit = 1_000_000

// meterName is the name by which nodes resolve the meter. No expression can contain it.
const meterName = "@kanon_meter"

// meteredVars has the variables of an evaluation and its meter.
type meteredVars struct {
	interpreter.Activation
	meter meter
}

// ResolveName implements interpreter.Activation.
func (v *meteredVars) ResolveName(name string) (any, bool) {
	if name == meterName {
		return &v.meter, true
	}
	return v.Activation.ResolveName(name)
}

// meterCosts makes calls, literals and iterations of loops charge the meter.
func meterCosts(root ast.Expr, env *Env) interpreter.PlannerOption {
	steps := map[int64]bool{}
	for e := range All(root) {
		if e.Kind() == ast.ComprehensionKind {
			steps[e.AsComprehension().LoopStep().ID()] = true
		}
	}
	return decorate(func(i interpreter.InterpretableV2) exec {
		m := metering{units: 1}
		switch n := i.(type) {
		case interpreter.InterpretableCall:
			d := env.declared[n.Function()]
			switch {
			case d.cost == costZone && len(n.Args()) > 1:
				m.units += zoneUnits
			case d.cost == costPattern:
				m.units += patternUnits
			}
			m.slow, m.makes = d.cost != costFree || n.Function() == operators.In, d.result == large
		case interpreter.InterpretableConstructor:
			m.makes = true
		default:
			if !steps[i.ID()] {
				return nil
			}
		}
		return func(frame *interpreter.ExecutionFrame) ref.Val { return m.metered(frame, i.Exec(frame)) }
	})
}

// metering says how a call, a literal or the step of a loop is metered.
type metering struct {
	// units is the cost without that of the result.
	units uint64
	// slow is true for a call that can take long by itself.
	slow bool
	// makes is true if the node makes new values that can be long.
	makes bool
}

// metered charges the meter for a node with its result, which it returns.
func (n metering) metered(frame *interpreter.ExecutionFrame, val ref.Val) ref.Val {
	m := meterOf(frame)
	if m == nil {
		return val
	}
	if n.slow {
		m.checkTime()
	}
	units := n.units
	switch v := val.(type) {
	case types.String:
		units += uint64(len(v)) / BytesPerUnit
	case types.Bytes:
		units += uint64(len(v)) / BytesPerUnit
	case traits.MutableLister: // the accumulator of a loop
	case traits.Lister:
		if size, ok := v.Size().(types.Int); ok {
			units += uint64(max(size, 0))
		}
	}
	m.charge(units)
	if n.makes && m.budget != nil {
		m.budget.Memory.add(MadeBytes(val))
	}
	return val
}

// meterOf returns the meter of an evaluation, or nil.
func meterOf(frame *interpreter.ExecutionFrame) *meter {
	val, _ := frame.ResolveName(meterName)
	m, _ := val.(*meter)
	return m
}

// charge adds to the cost of an evaluation.
func charge(frame *interpreter.ExecutionFrame, units uint64) {
	if m := meterOf(frame); m != nil {
		m.charge(units)
	}
}

// budgetOf returns the budget of an evaluation; nil if it has none.
func budgetOf(frame *interpreter.ExecutionFrame) *Budget {
	if m := meterOf(frame); m != nil {
		return m.budget
	}
	return nil
}

// chargedReads charges calls that process all of their arguments for the length of these, before the call.
func chargedReads(root ast.Expr, env *Env) interpreter.PlannerOption {
	read := chargedArguments(root, env)
	return interpreter.CustomDecoratorV2(func(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
		class, ok := read[i.ID()]
		if !ok {
			return i, nil
		}
		charged := func(frame *interpreter.ExecutionFrame) ref.Val {
			val := i.Exec(frame)
			if units := class.Units(val); units > 0 {
				charge(frame, units)
			}
			return val
		}
		if path, ok := i.(interpreter.InterpretableAttribute); ok {
			return &pathNode{path, charged}, nil
		}
		return &node{i, charged}, nil
	})
}

// chargedArguments returns, by node, the arguments of calls that cost the length of their arguments.
func chargedArguments(root ast.Expr, env *Env) map[int64]CostClass {
	read := map[int64]CostClass{}
	note := func(e ast.Expr, class CostClass) {
		if e.Kind() != ast.LiteralKind { // the length of a literal is fixed, and constant patterns are compiled once
			read[e.ID()] = class
		}
	}
	for e := range All(root) {
		if e.Kind() != ast.CallKind {
			continue
		}
		d := env.declared[e.AsCall().FunctionName()]
		if d.cost == costFree || d.charges {
			continue
		}
		for _, arg := range Operands(e) {
			note(arg, d.cost)
		}
	}
	return read
}

// ownCalls runs the calls of Kanon's own functions. It charges their cost, and records when the values of calls that
// depend on the clock change. moving has the speeds of the arguments of these calls.
func ownCalls(env *Env, moving map[int64][]int) interpreter.PlannerOption {
	return decorateCalls(func(call interpreter.InterpretableCall) exec {
		if fn := env.Own(call.Function()); fn != nil {
			return ownCall(call, fn, moving[call.ID()])
		}
		return nil
	})
}

// ownCall calls one of Kanon's own functions.
func ownCall(call interpreter.InterpretableCall, fn *Function, moving []int) exec {
	return func(frame *interpreter.ExecutionFrame) ref.Val {
		nodes := call.Args()
		args := make([]ref.Val, len(nodes))
		for i, node := range nodes {
			val := node.Exec(frame)
			if types.IsUnknownOrError(val) {
				return val
			}
			args[i] = val
		}
		val := fn.invoke(frame, args)
		if fn.cost != nil {
			charge(frame, fn.cost(args, val))
		}
		if types.IsError(val) {
			return types.LabelErrNode(call.ID(), val)
		}
		if moving != nil && fn.change != nil {
			if in, ok := fn.change(args, moving); ok {
				noteChange(frame, in)
			}
		}
		return val
	}
}
