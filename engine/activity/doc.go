// Package activity counts the work that has begun and not ended, to find out whether a program with many goroutines is
// idle.
//
//	counter := &activity.Counter{}
//	bell := activity.NewBell(counter)
//
//	go bell.Loop(ctx, 0, processChanges)
//
//	bell.Ring()
//	counter.Idle() // false until the changes are processed
//
// Whoever hands on work begins the next piece before it ends its own, so the count is never zero in between. What waits
// for a time, such as a retry, is not counted.
//
// counter.go counts, bell.go triggers a loop, and queue.go makes work queues that count, with backoff for keys that
// fail.
package activity
