package manager

import (
	"math"

	"golang.org/x/sync/semaphore"

	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/rules/program/template"
)

// evaluationShare is the divisor of GOMEMLIMIT that gives the memory for values of all evaluations together. Garbage
// takes as much again before it is collected, and the rest is for the caches of the cluster.
const evaluationShare = 4

// shareMemory makes the account of all evaluations under a memory limit in bytes, and lowers the limit of a single
// evaluation to it. Without a memory limit, there is no account.
func shareMemory(limit int64, l *template.Limits) program.Account {
	if limit <= 0 || limit == math.MaxInt64 {
		return nil
	}
	size := limit / evaluationShare
	l.ReconcileBytes = min(l.ReconcileBytes, size)
	return semaphore.NewWeighted(size)
}
