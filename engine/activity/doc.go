// Package activity counts the work that has begun and not ended, so that it can be told whether a program of many goroutines
// is idle.
//
//	counter := &activity.Counter{}
//	bell := activity.NewBell(counter)
//
//	go func() {
//		for range bell.Rung() {
//			takeInWhatChanged()
//			bell.Done()
//		}
//	}()
//
//	bell.Ring()
//	counter.Idle() // false until Done
//
// Whoever hands work on begins the next piece before it ends its own: so the count is never zero in between. What waits for a
// time to come, as a retry does, is not counted.
package activity
