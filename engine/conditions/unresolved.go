package conditions

import (
	"errors"
	"fmt"
	"slices"

	"kanon.dev/kanon/engine/apply/refusal"
)

// manyUnresolved is how many reconciles in a row leave a transient problem unreported. With the growing pauses between
// them, they take six seconds: longer than somebody else needs to finish a write, and short for somebody who waits.
const manyUnresolved = 6

// Unresolved counts the reconciles in a row that had a transient problem. The zero value has counted none.
type Unresolved int

// UnresolvedError reports a transient problem that many reconciles in a row have not resolved. An admission webhook
// that answers each write with a conflict is one cause. It does not unwrap, because nothing is transient about it.
type UnresolvedError struct{ cause error }

func (e *UnresolvedError) Error() string {
	return fmt.Sprintf("%v (more than %d times in a row)", e.cause, manyUnresolved)
}

// Count counts a reconcile that had these problems. After too many, it replaces the errors of the transient ones in
// place, so that they are reported.
func (u *Unresolved) Count(problems []Problem) {
	if !slices.ContainsFunc(problems, Problem.IsTransient) {
		*u = 0
		return
	}
	if *u = min(*u+1, manyUnresolved+1); *u <= manyUnresolved {
		return
	}
	for i := range problems {
		if of := &problems[i]; of.IsTransient() {
			of.Err = &UnresolvedError{cause: causeOf(of.Err)}
		}
	}
}

// causeOf returns the API server's answer, if the error has one: that somebody replaced the object was only a guess.
func causeOf(err error) error {
	if replaced, ok := errors.AsType[*refusal.ReplacedError](err); ok && replaced.Err != nil {
		return replaced.Err
	}
	return err
}
