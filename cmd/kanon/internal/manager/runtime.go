package manager

import (
	"context"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/semaphore"

	"kanon.dev/kanon/rules/program"
)

const (
	// gcPercent replaces the default of GOGC: how much garbage there may be before it is collected, in percent of the
	// memory in use. Kanon allocates mostly short-lived garbage, and keeps little. With Go's 100, a change of all of
	// 1,000 parents takes 10 % more processor time, and 13 MiB less at the peak. GOMEMLIMIT bounds it.
	gcPercent = 200
	// idleCheck is the interval of checks whether the engine is idle.
	idleCheck = 100 * time.Millisecond
)

// tuneRuntime sets how Go's runtime uses memory and processors, unless the environment sets it: first for the start, and
// once the engine is idle, for what follows. leading is closed once the engine may write; nil if it may from the start.
//
// A start reads lists and schemas, and a new leader compares everything. That takes all processors, and several times the
// memory that is kept. The memory is returned after it. From then on, the engine mostly waits for the API server, many
// times a second. Each time, Go wakes further processors to look for work. With one of two processors, the engine took
// 0.90 to 0.94 times the processor time (docs/performance.md). With more than two, nothing was measured.
func tuneRuntime(ctx context.Context, leading <-chan struct{}, idle func() bool) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	fromStart := isClosed(leading) // asked first: a standby may begin to lead at any time
	if !returnMemory(ctx, idle) {
		return
	}
	if !fromStart {
		select {
		case <-ctx.Done():
			return
		case <-leading:
		}
		if !returnMemory(ctx, idle) {
			return
		}
	}
	available := runtime.GOMAXPROCS(0)
	if n := processors(available); n < available && os.Getenv("GOMAXPROCS") == "" {
		logr.FromContextOrDiscard(ctx).V(2).Info("The start is over; using a part of the processors", "processors", n, "available", available)
		runtime.GOMAXPROCS(n)
	}
}

// isClosed reports whether a channel is closed, or nil.
func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return c == nil
	}
}

// returnMemory returns memory to the operating system once the engine is idle. ok is false if ctx ends before that.
func returnMemory(ctx context.Context, idle func() bool) (ok bool) {
	ticker := time.NewTicker(idleCheck)
	defer ticker.Stop()
	for !idle() {
		select {
		case <-ctx.Done():
			return false
		case <-ticker.C:
		}
	}
	debug.FreeOSMemory()
	return true
}

// processors returns how many of the available processors the engine uses after its start: half of them, rounded up.
func processors(available int) int { return (available + 1) / 2 }

// evaluationShare is the divisor of GOMEMLIMIT that gives the memory for values of all evaluations together. Garbage
// takes as much again before it is collected, and the rest is for the caches of the cluster.
const evaluationShare = 4

// shareMemory makes the account of all evaluations under a memory limit in bytes, and lowers the limit of a single
// evaluation to it. Without a memory limit, there is no account.
func shareMemory(limit int64, l *program.Limits) program.Account {
	if limit <= 0 || limit == math.MaxInt64 {
		return nil
	}
	size := limit / evaluationShare
	l.ReconcileBytes = min(l.ReconcileBytes, size)
	return semaphore.NewWeighted(size)
}
