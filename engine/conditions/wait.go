package conditions

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Wait is since when a parent waits for what takes an Event to report, and what an Event said about it. The zero value is of a
// parent that does not wait.
type Wait struct {
	// uid is the parent's, which may have been deleted and created again since.
	uid types.UID
	// since is when the wait began. reason is that of the last Event about it, and reported when that was emitted; empty and
	// zero: there was none.
	since, reported time.Time
	reason          string
}

// IsDue takes in that a parent waits for a reason, and tells whether an Event is due: once after limit, and again for another
// reason, but never sooner than limit after the one before. after is when the parent has to be reconciled again for that; zero: no Event
// follows.
func (w *Wait) IsDue(uid types.UID, reason string, now time.Time, limit time.Duration) (due bool, after time.Duration) {
	if w.uid != uid || w.since.IsZero() {
		*w = Wait{uid: uid, since: now}
	}
	from := w.since
	if w.reason != "" {
		from = w.reported
	}
	if w.reason == reason {
		return false, 0
	}
	// A clock that was set back makes nobody wait for longer than the limit.
	if after = min(from.Add(limit).Sub(now), limit); after > 0 {
		return false, after
	}
	w.reason, w.reported = reason, now
	return true, 0
}
