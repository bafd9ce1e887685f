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
	// restPercent is the same at rest, when little garbage comes and less memory is worth more.
	restPercent = 50
	// idleAfter is for how long nothing was collected at rest. Twice that, which is how long it can take to see it, must be
	// less than the two minutes after which Go collects by the clock.
	idleAfter = 45 * time.Second
)

// collector sets the pace of garbage collection. While there is work it is Go's own, by percent. At rest Go goes on to
// collect every two minutes, also when there is no garbage, and each time looks at all that is in use: 30 ms of the
// processor with 1,500 parents. It does not do so where the percentage is off (gcTriggerTime in the runtime's mgc.go).
// So at rest a limit on memory takes its place. It is fixed, and what is in use may grow: the first collection brings the
// percentage back.
type collector struct {
	limit     int64 // GOMEMLIMIT, in bytes
	idleAfter time.Duration
	changed   func() // is called each time when another pace is set
}

// newCollector is the collector of this process, whose limit on memory stays in force.
func newCollector() *collector {
	return &collector{limit: debug.SetMemoryLimit(-1), idleAfter: idleAfter, changed: func() {}}
}

// run sets the pace until ctx ends, and leaves the percentage.
func (c *collector) run(ctx context.Context) {
	c.work()
	for c.awaitRest(ctx) {
		select {
		case <-c.rest():
		case <-ctx.Done():
		}
		c.work()
	}
}

// work has garbage collected when there is a percentage of what is in use.
func (c *collector) work() {
	debug.SetGCPercent(gcPercent)
	debug.SetMemoryLimit(c.limit)
	c.changed()
}

// rest has garbage collected when there is as much as is allowed at rest, and never by the
// clock. The channel is closed after the first collection.
func (c *collector) rest() (collected <-chan struct{}) {
	if m := readMemory(); m.objects+m.free > 2*m.live {
		debug.FreeOSMemory() // which others could use, and which nobody would give back now
	}
	ended := make(chan struct{})
	runtime.AddCleanup(new([64]byte), func(ended chan<- struct{}) { close(ended) }, ended)
	m := readMemory()
	debug.SetMemoryLimit(min(c.limit, m.used-m.objects+m.allowed())) // what is free is used first
	debug.SetGCPercent(-1)
	c.changed()
	return ended
}

// awaitRest waits until nothing was collected for idleAfter and there is little garbage; false when ctx
// has ended before. Where there is more, Go collects it before long.
func (c *collector) awaitRest(ctx context.Context) bool {
	ticker := time.NewTicker(c.idleAfter)
	defer ticker.Stop()
	for before := readMemory().collections; ; {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return false
		}
		now := readMemory()
		if now.collections == before && now.objects <= now.allowed() {
			return true
		}
		before = now.collections
	}
}

// memory is what the runtime knows of its memory, in bytes, and how often it has collected garbage.
type memory struct {
	used        int64 // all that counts for the limit
	objects     int64 // of that, objects and garbage
	free        int64 // of that, room for objects
	live        int64 // the objects at the last collection
	collections int64
}

// allowed is how much the objects and garbage may take at rest.
func (m memory) allowed() int64 { return m.live * (100 + restPercent) / 100 }

func readMemory() memory {
	const total, released, objects, free, live, collections = 0, 1, 2, 3, 4, 5
	samples := []metrics.Sample{
		total:       {Name: "/memory/classes/total:bytes"},
		released:    {Name: "/memory/classes/heap/released:bytes"},
		objects:     {Name: "/memory/classes/heap/objects:bytes"},
		free:        {Name: "/memory/classes/heap/free:bytes"},
		live:        {Name: "/gc/heap/live:bytes"},
		collections: {Name: "/gc/cycles/total:gc-cycles"},
	}
	metrics.Read(samples)
	value := func(i int) int64 { return int64(samples[i].Value.Uint64()) }
	return memory{
		used: value(total) - value(released), objects: value(objects), free: value(free),
		live: value(live), collections: value(collections),
	}
}
