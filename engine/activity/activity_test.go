package activity_test

import (
	"testing"

	"k8s.io/client-go/util/workqueue"

	"kanon.dev/kanon/engine/activity"
)

func wantIdle(t *testing.T, c *activity.Counter, want bool, when string) {
	t.Helper()
	if got := c.Idle(); got != want {
		t.Errorf("idle is %t %s", got, when)
	}
}

func TestCounterAsksOthers(t *testing.T) {
	t.Parallel()
	var c activity.Counter
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
	var c activity.Counter
	b := activity.NewBell(&c)
	wantIdle(t, &c, true, "before the bell is rung")
	b.Ring()
	b.Ring()
	wantIdle(t, &c, false, "before the loop comes")
	<-b.Rung()
	b.Ring()
	b.Done()
	wantIdle(t, &c, false, "where the bell was rung again meanwhile")
	<-b.Rung()
	b.Done()
	wantIdle(t, &c, true, "after all was done")
	select {
	case <-b.Rung():
		t.Error("the bell is rung a third time")
	default:
	}
}

func TestQueue(t *testing.T) {
	t.Parallel()
	var c activity.Counter
	q := workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[string]{
		Queue: activity.Queue[string]{Queue: workqueue.DefaultQueue[string](), Counter: &c},
	})
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
