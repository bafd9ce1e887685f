// Package activity counts the work that has begun and not ended, so that it can be told whether a program of many goroutines
// is idle.
//
//	counter := &activity.Counter{}
//	bell := activity.NewBell(counter)
//
//	go bell.Loop(ctx, 0, takeInWhatChanged)
//
//	bell.Ring()
//	counter.Idle() // false until what changed is taken in
//
// Whoever hands work on begins the next piece before it ends its own: so the count is never zero in between. What waits for a
// time to come, as a retry does, is not counted.
//
// counter.go counts, bell.go wakes a loop, and queue.go makes work queues that count, with the backoff of keys that fail.
package activity
