package queue_test

import (
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/util/workqueue"

	"kanon.dev/kanon/engine/queue"
)

func wantIdle(t *testing.T, c *queue.Counter, want bool, when string) {
	t.Helper()
	if got := c.Idle(); got != want {
		t.Errorf("idle is %t %s", got, when)
	}
}

func TestCounterAsksOthers(t *testing.T) {
	t.Parallel()
	var c queue.Counter
	if c.Idle(func() bool { return false }) {
		t.Error("it is idle while another is not")
	}
	if c.Idle(func() bool { c.Begin(); c.End(); return true }) {
		t.Error("it is idle although work came while another was asked")
	}
	if !c.Idle(func() bool { return true }) {
		t.Error("it is not idle with nothing to do")
	}
}

func TestBell(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var c queue.Counter
		b := queue.NewBell(&c)
		wantIdle(t, &c, true, "before the bell is rung")
		b.Ring()
		b.Ring()
		wantIdle(t, &c, false, "before the loop comes")
		calls, proceed, again := 0, make(chan struct{}), time.Duration(0)
		go b.Loop(t.Context(), time.Hour, func() time.Duration {
			calls++
			<-proceed
			return again
		})
		synctest.Wait()
		b.Ring()
		proceed <- struct{}{}
		synctest.Wait()
		wantIdle(t, &c, false, "where the bell was rung again meanwhile")
		again = time.Minute
		proceed <- struct{}{}
		synctest.Wait()
		wantIdle(t, &c, true, "after all was done")
		<-time.After(59 * time.Second)
		wantIdle(t, &c, true, "before it is time again")
		<-time.After(2 * time.Second)
		wantIdle(t, &c, false, "when it is time again")
		again = 0
		proceed <- struct{}{}
		<-time.After(time.Hour)
		wantIdle(t, &c, true, "when nothing is due")
		if calls != 3 {
			t.Errorf("the loop came %d times", calls)
		}
	})
}

func TestQueue(t *testing.T) {
	t.Parallel()
	var c queue.Counter
	q := queue.NewQueue("", &c, workqueue.DefaultQueue[string](), time.Second, time.Second)
	defer q.ShutDown()
	done := func(k string) { q.Done(k); c.End() }
	q.Add("a")
	q.Add("a")
	wantIdle(t, &c, false, "while a key waits")
	k, _ := q.Get()
	wantIdle(t, &c, false, "while a key is worked on")
	q.Add("a")
	done(k)
	wantIdle(t, &c, false, "where the key was added meanwhile")
	k, _ = q.Get()
	done(k)
	wantIdle(t, &c, true, "when the key is done")
}
