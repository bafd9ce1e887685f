package conditions

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Wait is since when a parent has been waiting, and what the last Event about that reported. The zero value stands for
// a parent that does not wait.
type Wait struct {
	// uid is the parent's, which may have been recreated since.
	uid types.UID
	// since is when the wait began. reason is that of the last Event about it, which was emitted at reported; empty and
	// zero if there was none.
	since, reported time.Time
	reason          string
}

// IsDue records that a parent waits for a reason, and reports whether an Event is due: once after limit, and again for
// another reason, but at least limit after the previous one. after is when the parent must be reconciled again for the
// Event; zero if none follows.
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
	// If the clock was set back, the wait is still no longer than the limit.
	if after = min(from.Add(limit).Sub(now), limit); after > 0 {
		return false, after
	}
	w.reason, w.reported = reason, now
	return true, 0
}
