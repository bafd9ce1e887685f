package engine

import (
	"strings"
	"time"
)

// pace is when a parent was reconciled and when it may be, or must be, again.
type pace struct {
	// started is when the last reconcile began, and interval the least time from
	// there to the next; zero: none.
	started  time.Time
	interval time.Duration
	// seen is the now that the last evaluation saw, and due when something that
	// it computed from now changes; zero: never.
	seen, due time.Time
	// asked is the value of annotationReconcileAt that the last reconcile answered.
	asked string
}

// ask takes a new value of annotationReconcileAt for what it is: a reason to reconcile
// now, and to look at the clock.
func (p *pace) ask(value string) {
	if value != "" && value != p.asked {
		*p = pace{asked: value}
	}
}

// rest is how long the parent has to wait still before it may be reconciled.
func (p pace) rest(now time.Time) time.Duration {
	if p.interval <= 0 {
		return 0
	}
	// A clock that was put back makes nobody wait longer than the interval.
	return min(p.started.Add(p.interval).Sub(now), p.interval)
}

// isDue tells whether the time has come at which the rule computes something else
// from now.
func (p pace) isDue(now time.Time) bool { return !p.due.IsZero() && !now.Before(p.due) }

// evaluationTime is the now that an evaluation sees. A rule that renders now goes
// on with the one that it saw last until something is due: what changes for no
// other reason than the passing of time is not to be written in between.
func (p pace) evaluationTime(now time.Time, drifts bool) time.Time {
	if !drifts || p.seen.IsZero() || now.Before(p.seen) || p.isDue(now) {
		return now
	}
	return p.seen
}

// dueAt is when a parent must be reconciled again because of time alone, from
// what an evaluation that saw a now asked for; zero: never.
func dueAt(seen, wakeAt time.Time, requeueAfter time.Duration) time.Time {
	if requeueAfter <= 0 {
		return wakeAt
	}
	// now is whole seconds, so a wake within the same one would find nothing new.
	again := seen.Add(max(requeueAfter, time.Second))
	if wakeAt.IsZero() || again.Before(wakeAt) {
		return again
	}
	return wakeAt
}

// planWake notes the times of this pass and has the key come back when something
// that was computed from now changes. Of several times for one key the queue keeps
// the first; one that has lost its reason costs an evaluation and nothing more.
func (p *pass) planWake() {
	at := dueAt(p.now, p.evaluation.WakeAt(), p.outcome.RequeueAfter)
	if !at.IsZero() {
		p.requeueAfter(at.Sub(p.options.Clock.Now()))
	}
	if p.filling || p.evaluation.Starved() {
		return // it does not count: the next one comes as soon as it can
	}
	next := pace{asked: strings.Clone(p.parent.GetAnnotations()[annotationReconcileAt])} // it outlives the parent as it is now
	if next.interval = p.outcome.MinInterval; next.interval > 0 {
		next.started = p.started
	}
	if program := p.op.program; program.Drifts() {
		next.seen, next.due = p.now, at
	} else if program.ReadsStatus() {
		next.due = at
	}
	if p.memory != nil {
		p.memory.pace = next
	}
}
