package main

import (
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"
)

// inUse is so much that what else the tests hold makes no difference.
const inUse = 64 << 20

// sink keeps what is allocated from being optimized away.
var sink []byte

// settings are what the runtime collects by: GOGC, which is the greatest number when it is off, and GOMEMLIMIT.
func settings() (percent, limit uint64) {
	samples := []metrics.Sample{{Name: "/gc/gogc:percent"}, {Name: "/gc/gomemlimit:bytes"}}
	metrics.Read(samples)
	return samples[0].Value.Uint64(), samples[1].Value.Uint64()
}

// TestCollectorByLimit: without a percentage there is as much garbage as with it.
func TestCollectorByLimit(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(gcPercent))
	held := make([]byte, inUse)
	runtime.GC()
	c := newCollector()
	collected := c.byLimit()
	if percent, _ := settings(); percent != math.MaxUint64 {
		t.Errorf("garbage is collected at %d percent, want by the limit alone", percent)
	}
	allocated := 0
	for open := true; open; {
		select {
		case <-collected:
			open = false
		default:
			sink = make([]byte, 1<<20)
			allocated += len(sink)
		}
		if allocated > 4*inUse {
			t.Fatalf("%d MiB of garbage were not collected, beside %d in use", allocated>>20, inUse>>20)
		}
	}
	if allocated < inUse {
		t.Errorf("%d MiB of garbage were collected, beside %d in use", allocated>>20, inUse>>20)
	}
	runtime.KeepAlive(held)
	c.byPercent()
	if percent, limit := settings(); percent != gcPercent || limit != uint64(c.limit) {
		t.Errorf("collects at %d percent, or %d bytes; want %d and %d", percent, limit, gcPercent, c.limit)
	}
}

// TestCollectorKeepsLimit: a limit that the user has set is not exceeded.
func TestCollectorKeepsLimit(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(gcPercent))
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(readMemory().used + 1<<20))
	c := newCollector()
	c.byLimit()
	if _, limit := settings(); limit != uint64(c.limit) {
		t.Errorf("the limit is %d bytes, want the user's %d", limit, c.limit)
	}
}

// TestCollectorRuns: the limit at rest is of what is in use then, and is gone in the end.
func TestCollectorRuns(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(gcPercent))
	c := newCollector()
	c.idleAfter = 5 * time.Millisecond
	runtime.GC() // of what other tests held
	end := inBackground(t.Context(), c.run)
	atRest := func(least uint64) (limit uint64) {
		for {
			percent, limit := settings()
			if percent == math.MaxUint64 && limit != uint64(c.limit) && limit > least {
				return limit
			}
			time.Sleep(time.Millisecond) // the runtime tells nobody
		}
	}
	first := atRest(0)
	held := make([]byte, inUse)
	runtime.GC()
	atRest(first + inUse)
	runtime.KeepAlive(held)
	end()
	if percent, limit := settings(); percent != gcPercent || limit != uint64(c.limit) {
		t.Errorf("collects at %d percent, or %d bytes; want %d and %d", percent, limit, gcPercent, c.limit)
	}
}
