// Package outcome describes the result of one reconcile of a key. By it, a worker returns the key to the queue:
//
//	out := outcome.Outcome{Verdict: outcome.Waiting} // wait for an event
//	out.RequeueAfter(time.Minute)                    // or for a minute, whichever comes first
//
// A panic has an outcome, too: [ContainPanic] turns it into an error, so that one parent with unexpected input does not
// end the work on all others.
package outcome
