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
// A key that is added twice is handed out once. That, delays and the backoff of retries are client-go's work queue,
// made by package activity. The order is Kanon's own:
//
//   - queue.go has the keys and the queue.
//   - fair.go hands out keys, and has those that wait.
//   - turns.go decides whose turn it is.
//   - shares.go limits how many keys of a rule or tenant are in work.
//   - lane.go has the waiting keys of one rule, and hands out a patient key after every few urgent ones.
//   - semaphore.go is for what only a few keys may use at a time, such as memory.
package queue
