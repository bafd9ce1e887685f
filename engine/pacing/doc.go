// Package pacing computes how long something has to wait before its next attempt.
//
// A Backoff is for what keeps failing: a loop, a field conflict, an object that is recreated. The pause doubles with
// each attempt, between the Limits:
//
//	limits := pacing.Limits{First: 10 * time.Second, Max: 2 * time.Minute}
//	var backoff pacing.Backoff          // no attempt so far
//	backoff.Next(now, limits)           // 10 s; then 20 s, 40 s, …, 2 min
//	requeueAfter(backoff.Remaining(now))
//
// Retries is for a loop that only counts its failures in a row, such as one that reads a ConfigMap. client-go's rate
// limiter counts those of the keys of a work queue; the queue needs it, and this package does not replace it.
//
// A Schedule is when a parent was last reconciled, when it may be reconciled again (minInterval), and when it must be
// (requeueAfter, and comparisons with now):
//
//	if wait := schedule.Wait(now); wait > 0 {
//		return requeueAfter(wait)       // minInterval has not passed
//	}
//	seen := schedule.EvaluationTime(now, program.Drifts)
//
// All of these are values whose zero value is ready for use. None reads a clock. If the clock is set back, nothing
// waits for longer than its whole pause.
package pacing
