// Package queue says what there is to do, piece by piece, and in which order: the
// tenants take turns, and of each its rules.
//
//	q := queue.New(retryBase, retryMax, counter, tenantOf)
//	q.Add(key)        // an event of the parent: it comes before those that merely wait for a new rule
//	q.AddPatient(key) // such a one
//	k, shutdown := q.Get()
//	...
//	q.AddRateLimited(k) // a failure: the pause before the next try grows
//	q.Done(k)
//
// Keys that are added twice are one; that, delays and the backoff of retries are client-go's work queue, as package activity makes
// it. The order is ours: fair.go hands out keys, turns.go has whose turn it is, and lane.go what waits of one rule, with every
// few keys one of the patient ones. semaphore.go is for what only a few keys may have at a time, such as memory.
package queue
