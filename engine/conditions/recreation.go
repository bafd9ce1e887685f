package conditions

import (
	"fmt"
	"strconv"
	"time"

	"kanon.dev/kanon/engine/apply/mark"
)

// BlockedRecreationError reports that an object has to be recreated, and that the guard does not let the rule's
// revision delete it yet.
type BlockedRecreationError struct {
	Object mark.Ref
	Why    string
	// Reported is true if that lasts until somebody acts.
	Reported bool
}

// Unwrap makes the error transient: the next reconcile settles it.
func (e *BlockedRecreationError) Unwrap() error { return errGuardBlocks }

// errGuardBlocks reports that it is not known yet what a new revision of the rule would delete.
var errGuardBlocks = Transient("it is not known yet what the new revision of the rule would delete")

func (e *BlockedRecreationError) Error() string {
	return fmt.Sprintf("%s has to be deleted and recreated: %s; it stays as it is, because the rule's new revision would delete more than it may, "+
		"as the rule says", e.Object, e.Why)
}

// RecreatedRecentlyError reports that an object has to be recreated, but was recreated recently.
type RecreatedRecentlyError struct {
	Object mark.Ref
	Why    string
	// Count is how often in a row it was recreated. At is when it may be recreated again, After from the reconcile on.
	Count int
	At    time.Time
	After time.Duration
}

// Reason implements Reasoned.
func (e *RecreatedRecentlyError) Reason() (reason string, stalled bool) {
	return ReasonRecreating, false
}

func (e *RecreatedRecentlyError) Error() string {
	times := "once"
	if e.Count > 1 {
		times = strconv.Itoa(e.Count) + " times in a row"
	}
	return fmt.Sprintf("%s has to be recreated: %s; it was recreated %s already, and is recreated again at %s",
		e.Object, e.Why, times, e.At.UTC().Format(time.RFC3339))
}
