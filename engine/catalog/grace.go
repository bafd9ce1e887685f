package catalog

import (
	"maps"
	"time"

	"kanon.dev/kanon/engine/source"
)

const (
	// GracePeriod is how long nothing is reported of an origin while something that it
	// needs is on its way: a definition, a schema, or an informer that fills. If it
	// fails, a later report says so.
	GracePeriod = 5 * time.Second
	// startGracePeriod is that period after the start of the process, when everything is
	// on its way at once: a restart changes no report.
	startGracePeriod = 10 * time.Second
)

// grace keeps the grace period of each origin.
type grace struct {
	// start is the end of the first grace period of every origin, at the least.
	start time.Time
	ends  map[source.Origin]time.Time
}

func newGrace(now time.Time) *grace {
	return &grace{start: now.Add(startGracePeriod), ends: make(map[source.Origin]time.Time)}
}

// isOver tells whether the grace period of an origin is over, and when to ask again. The
// first call begins a period. One that is over begins again, so that reports on an origin
// that waits for long are not too many.
func (g *grace) isOver(origin source.Origin, now time.Time) (over bool, again time.Duration) {
	end, begun := g.ends[origin]
	over = begun && !now.Before(end)
	if over || !begun {
		end = now.Add(GracePeriod)
		if !over && end.Before(g.start) {
			end = g.start
		}
		g.ends[origin] = end
	}
	return over, end.Sub(now)
}

// keep ends the grace periods of all origins except these.
func (g *grace) keep(waiting map[source.Origin]bool) {
	maps.DeleteFunc(g.ends, func(origin source.Origin, _ time.Time) bool { return !waiting[origin] })
}
