package main

import (
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"testing/synctest"
	"time"
)

// inUse is so much that what else the tests hold makes no difference.
const inUse = 64 << 20

// sink has what is allocated really be.
var sink []byte

// pace is what the runtime collects by: GOGC, which is the greatest number when it is off, and GOMEMLIMIT.
type pace struct{ percent, limit uint64 }

func readPace() pace {
	samples := []metrics.Sample{{Name: "/gc/gogc:percent"}, {Name: "/gc/gomemlimit:bytes"}}
	metrics.Read(samples)
	return pace{samples[0].Value.Uint64(), samples[1].Value.Uint64()}
}

// hold has inUse bytes in use, and no garbage, until the test ends. Its pace goes with it.
func hold(t *testing.T) {
	t.Helper()
	held := make([]byte, inUse)
	percent := debug.SetGCPercent(gcPercent)
	debug.FreeOSMemory()
	t.Cleanup(func() {
		runtime.KeepAlive(held)
		debug.SetGCPercent(percent)
	})
}

// At rest the percentage is off, and there is only as much garbage as is allowed then. The first collection ends it.
func TestCollectorRest(t *testing.T) {
	hold(t)
	c := newCollector()
	collected := c.rest()
	got, used := readPace(), readMemory().used
	if got.percent != math.MaxUint64 {
		t.Errorf("garbage is collected at %d percent, want by a limit alone", got.percent)
	}
	if garbage := int64(got.limit) - used; garbage < inUse/4 || garbage > inUse {
		t.Errorf("there may be %d MiB of garbage beside %d in use, want half of that", garbage>>20, inUse>>20)
	}
	timeout := time.After(time.Minute)
	for resting := true; resting; {
		select {
		case <-collected:
			resting = false
		case <-timeout:
			t.Fatal("a collection does not end it")
		default:
			sink = make([]byte, 1<<20)
		}
	}
	c.work()
	if got, want := readPace(), (pace{gcPercent, uint64(c.limit)}); got != want {
		t.Errorf("garbage is collected by %v, want by %v", got, want)
	}
}

// What was given up before rest begins is given back.
func TestCollectorGivesBack(t *testing.T) {
	hold(t)
	c := newCollector()
	sink = make([]byte, 2*inUse)
	sink = nil
	runtime.GC()
	before := readMemory()
	c.rest()
	if now := readMemory(); now.used > before.used-inUse {
		t.Errorf("%d MiB are used at rest, and %d before", now.used>>20, before.used>>20)
	}
	c.work()
}

// A limit that the user has set is not exceeded.
func TestCollectorKeepsLimit(t *testing.T) {
	hold(t)
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(readMemory().used + inUse/4))
	c := newCollector()
	c.rest()
	if got := readPace(); got.limit != uint64(c.limit) {
		t.Errorf("the limit is %d bytes, want the user's %d", got.limit, c.limit)
	}
	c.work()
}

// The percentage comes back with the first collection, the next limit is of what is in use by then, and in the
// end all is as it was.
func TestCollectorRun(t *testing.T) {
	hold(t)
	paces := make(chan pace)
	c := newCollector()
	c.idleAfter = time.Millisecond
	c.changed = func() { paces <- readPace() }
	end := inBackground(t.Context(), c.run)
	working := pace{gcPercent, uint64(c.limit)}
	wantPace := func(resting bool) (got pace) {
		t.Helper()
		select {
		case got = <-paces:
		case <-time.After(time.Minute):
			t.Fatalf("another pace is awaited, at rest: %t", resting)
		}
		if (got != working) != resting || (got.percent == math.MaxUint64) != resting {
			t.Fatalf("garbage is collected by %v, at rest: %t", got, resting)
		}
		return got
	}
	wantPace(false)
	first := wantPace(true)
	more := make([]byte, inUse)
	runtime.GC()
	wantPace(false)
	if second := wantPace(true); second.limit < first.limit+inUse {
		t.Errorf("the limit is %d bytes with %d more in use, and was %d", second.limit, inUse, first.limit)
	}
	runtime.KeepAlive(more)
	go end()
	wantPace(false)
}

// As long as garbage is collected there is no rest.
func TestCollectorAwaitsRest(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // none but those of the test
	synctest.Test(t, func(t *testing.T) {
		c := newCollector()
		rested := make(chan time.Duration)
		begun := time.Now()
		go func() {
			c.awaitRest(t.Context())
			rested <- time.Since(begun)
		}()
		for range 3 {
			<-time.After(c.idleAfter - time.Second) // by the clock of the bubble
			runtime.GC()
		}
		if got, want := <-rested, 4*c.idleAfter; got != want {
			t.Errorf("it rests after %s, want %s", got, want)
		}
	})
}

// As long as there is much garbage there is no rest: the limit would have it collected at once.
func TestCollectorAwaitsCollection(t *testing.T) {
	hold(t)
	debug.SetGCPercent(-1) // none but those of the test
	synctest.Test(t, func(t *testing.T) {
		c := newCollector()
		rested := make(chan time.Duration)
		begun := time.Now()
		sink = make([]byte, inUse)
		sink = nil
		go func() {
			c.awaitRest(t.Context())
			rested <- time.Since(begun)
		}()
		<-time.After(3*c.idleAfter - time.Second) // by the clock of the bubble
		runtime.GC()
		if got, want := <-rested, 4*c.idleAfter; got != want {
			t.Errorf("it rests after %s, want %s", got, want)
		}
	})
}
