package catalog

import (
	"maps"
	"time"

	"kanon.dev/kanon/engine/source"
)

const (
	// GracePeriod is how long an origin is not reported on while something that it needs is pending: a definition, a
	// schema, or the sync of an informer. If that fails, a later report says so.
	GracePeriod = 5 * time.Second
	// startGracePeriod replaces it right after the start of the process, when everything is pending at once, so that
	// a restart changes no report.
	startGracePeriod = 10 * time.Second
)

// grace tracks the grace period of each origin.
type grace struct {
	// start is the earliest end of an origin's first grace period.
	start time.Time
	ends  map[source.Origin]time.Time
}

func newGrace(now time.Time) *grace {
	return &grace{start: now.Add(startGracePeriod), ends: make(map[source.Origin]time.Time)}
}

// isOver reports whether the grace period of an origin is over, and after how long to ask again. The first call
// begins a period. After one ends, another begins, which limits how often an origin that waits for long is reported
// on.
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

// keep ends the grace periods of all origins that do not wait.
func (g *grace) keep(waiting map[source.Origin]bool) {
	maps.DeleteFunc(g.ends, func(origin source.Origin, _ time.Time) bool { return !waiting[origin] })
}
