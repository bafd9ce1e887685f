package conditions

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"kanon.dev/kanon/engine/apply/refusal"
)

// A conflict is reported after more than manyConflicts reconciles in a row that take at least lastingConflict. With the
// default pauses, the seventh reconcile begins after six seconds. A write of somebody else takes less.
const (
	manyConflicts   = 6
	lastingConflict = 5 * time.Second
)

// Unresolved counts the reconciles of a key in a row that had a conflict: somebody else's write came first. The zero
// value has counted none.
type Unresolved struct {
	count int
	since time.Time
}

// UnresolvedError reports a conflict that many reconciles in a row have not resolved. An admission webhook that answers
// each write with a conflict is one cause. The error does not unwrap, because nothing is transient about it.
type UnresolvedError struct{ cause error }

func (e *UnresolvedError) Error() string {
	return fmt.Sprintf("%v (in more than %d reconciles in a row)", e.cause, manyConflicts)
}

// Count counts a reconcile that had these problems and began at now.
func (u *Unresolved) Count(problems []Problem, now time.Time) {
	switch {
	case !slices.ContainsFunc(problems, Problem.isConflict):
		*u = Unresolved{}
	case u.count == 0:
		*u = Unresolved{count: 1, since: now}
	default:
		u.count = min(u.count+1, manyConflicts)
	}
}

// Reported returns the problems of a reconcile that began at now, as they are to be reported: if the reconciles before it
// had too many conflicts, a conflict is a problem like any other.
func (u Unresolved) Reported(problems []Problem, now time.Time) []Problem {
	if u.count < manyConflicts || now.Sub(u.since) < lastingConflict {
		return problems
	}
	problems = slices.Clone(problems)
	for i := range problems {
		if of := &problems[i]; of.isConflict() {
			of.Err = &UnresolvedError{cause: of.Err}
		}
	}
	return problems
}

// isConflict reports whether a write failed because somebody else's write came first.
func (p Problem) isConflict() bool {
	return errors.As(p.Err, new(*UnresolvedError)) || errors.As(p.Err, new(*refusal.ReplacedError)) ||
		errors.As(p.Err, new(*refusal.OwnerReferenceLostError))
}
