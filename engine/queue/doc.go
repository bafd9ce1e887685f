// Package queue orders the work of the engine: the tenants take turns, and so do the rules of each tenant.
//
//	q := queue.New(retryBase, retryMax, counter, tenantOf, workers)
//	q.Add(key)        // an event: the key goes ahead of those that only wait for a new rule
//	q.AddPatient(key) // a key that only waits for a new rule
//	k, shutdown := q.Get()
//	...
//	q.AddRateLimited(k) // a failure: the pause before the next try grows
//	q.Done(k)
//
// A key that is added twice is handed out once. That, delays and the backoff of retries are client-go's work queue. The
// order is Kanon's own. A Counter counts the work that has begun and not ended, to find out whether the engine is idle.
// Whoever hands on work begins the next piece before it ends its own, so the count is never zero in between. What waits
// for a time, such as a retry, is not counted.
//
// An Outcome is the result of one reconcile of a key. By it, a worker returns the key to the queue. A Backoff is for
// what keeps failing: a loop, a field conflict, an object that is recreated. A Schedule is when a parent was last
// reconciled, and when it may and must be reconciled again. They are values whose zero value is ready, and read no clock.
// If the clock is set back, nothing waits for longer than its whole pause.
//
// What each file does:
//
//	queue.go      the keys and the queue
//	fair.go       hands out keys in turns, and limits how many of a rule or tenant are in work
//	semaphore.go  for what only a few keys may use at a time, such as memory
//	counting.go   counts the work, makes work queues that count, and triggers loops
//	outcome.go    the result of a reconcile; a panic has one, too
//	event.go      what a waiting key waits for, and who guarantees it
//	backoff.go    pauses that double with each attempt
//	schedule.go   when a parent is reconciled because of time alone
package queue
