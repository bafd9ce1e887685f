// Package pacing says how long something has to wait before it is done again.
//
// A Backoff is for what is tried again and again in vain: a loop, a conflict over a field, an
// object that is recreated. The pause doubles with each attempt, between the Limits:
//
//	limits := pacing.Limits{First: 10 * time.Second, Max: 2 * time.Minute}
//	var backoff pacing.Backoff          // no attempt so far
//	backoff.Next(now, limits)           // 10 s; then 20 s, 40 s, …, 2 min
//	requeueAfter(backoff.Remaining(now))
//
// A loop that only counts its failures in a row, such as one that reads a ConfigMap, has
// Retries. Keys of a work queue are counted by client-go's rate limiter, which
// the queue needs, and is not replaced by this.
//
// A Schedule is when a parent was reconciled last, and when it may be again (minInterval) or
// must be (requeueAfter, and comparisons with now):
//
//	if wait := schedule.Wait(now); wait > 0 {
//		return requeueAfter(wait)       // minInterval is not over
//	}
//	seen := schedule.EvaluationTime(now, program.Drifts())
//
// All of these are values with a zero value that is ready for use. None reads a clock. A clock
// that is put back makes nothing wait for longer than its whole pause.
package pacing
