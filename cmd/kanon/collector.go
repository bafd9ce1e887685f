package main

import (
	"context"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// gcPercent is GOGC unless the environment has it: how much garbage there may be before it is collected, in percent of
	// what is in use. Most of what Kanon allocates is garbage at once, and what it keeps is little: with Go's 100 a change of
	// all of 1,000 parents takes 10 % more of the processor, and 13 MiB less at the peak. GOMEMLIMIT bounds it.
	gcPercent = 200
	// idleAfter is for how long nothing was collected when there is no work. Twice that, which is how long it can take to
	// see it, must be less than the two minutes after which Go collects by the clock.
	idleAfter = 45 * time.Second
)

// collector sets the pace of garbage collection. While there is work it is Go's own, by percent. At rest Go goes on to
// collect every two minutes, also when there is no garbage, and each time looks at all that is in use: with 20,000
// parents some tenths of a second. It does not do so where the percentage is off (gcTriggerTime in the runtime's mgc.go).
// So at rest a limit on memory takes its place, which allows as much garbage. It is fixed, and what is in use may grow:
// the first collection brings the percentage back.
type collector struct {
	percent   int           // as GOGC
	limit     int64         // as GOMEMLIMIT, in bytes
	idleAfter time.Duration // the constant
}

// newCollector is the collector of this process, whose limit on memory stays in force.
func newCollector() *collector {
	return &collector{percent: gcPercent, limit: debug.SetMemoryLimit(-1), idleAfter: idleAfter}
}

// run sets the pace until ctx ends, and leaves the percentage.
func (c *collector) run(ctx context.Context) {
	for ctx.Err() == nil {
		c.byPercent()
		c.awaitRest(ctx)
		select {
		case <-c.byLimit():
		case <-ctx.Done():
		}
	}
	c.byPercent()
}

// byPercent has garbage collected when there is a percentage of what is in use.
func (c *collector) byPercent() {
	debug.SetGCPercent(c.percent)
	debug.SetMemoryLimit(c.limit)
}

// byLimit has garbage collected when there is as much of it as there would be by percentage, and never
// by the clock. The channel is closed after the first collection.
func (c *collector) byLimit() <-chan struct{} {
	collected := make(chan struct{})
	runtime.AddCleanup(new([64]byte), func(collected chan<- struct{}) { close(collected) }, collected)
	m := readMemory()
	debug.SetMemoryLimit(min(c.limit, m.used-m.spare+m.live*int64(100+c.percent)/100))
	debug.SetGCPercent(-1)
	return collected
}

// awaitRest returns when nothing was collected for idleAfter, or ctx has ended.
func (c *collector) awaitRest(ctx context.Context) {
	ticker := time.NewTicker(c.idleAfter)
	defer ticker.Stop()
	for before, now := int64(-1), readMemory().collections; before != now; before, now = now, readMemory().collections {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// memory is what the runtime knows of its memory, in bytes, and how often it has collected garbage.
type memory struct {
	used        int64 // all that counts for the limit
	spare       int64 // of that, objects that need not be in use, and room for others
	live        int64 // objects that were in use at the last collection
	collections int64
}

func readMemory() memory {
	samples := []metrics.Sample{
		{Name: "/memory/classes/total:bytes"},
		{Name: "/memory/classes/heap/released:bytes"},
		{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/memory/classes/heap/free:bytes"},
		{Name: "/gc/heap/live:bytes"},
		{Name: "/gc/cycles/total:gc-cycles"},
	}
	metrics.Read(samples)
	value := func(i int) int64 { return int64(samples[i].Value.Uint64()) }
	return memory{used: value(0) - value(1), spare: value(2) + value(3), live: value(4), collections: value(5)}
}
