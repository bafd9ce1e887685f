package manager

import (
	"math"

	"golang.org/x/sync/semaphore"

	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/rules/program/template"
)

// evaluationShare is which part of GOMEMLIMIT the values of all evaluations may take
// together: one in so many. Garbage takes as much again before it is collected, and the
// rest is for what is kept of the cluster.
const evaluationShare = 4

// shareMemory makes the account of all evaluations under a limit of memory, in bytes,
// and holds the limit of one evaluation to it. There is no account where there is no
// limit.
func shareMemory(limit int64, l *template.Limits) program.Account {
	if limit <= 0 || limit == math.MaxInt64 {
		return nil
	}
	size := limit / evaluationShare
	l.ReconcileBytes = min(l.ReconcileBytes, size)
	return semaphore.NewWeighted(size)
}
