package engine

import (
	"maps"
	"time"

	"kanon.dev/kanon/engine/source"
)

const (
	// patienceLimit bounds how long nothing is said of what is on its way.
	patienceLimit = 5 * time.Second
	// patienceAtStart is how long nothing is said of it after the start of the process, when
	// all is on its way at once: a restart changes no verdict.
	patienceAtStart = 10 * time.Second
)

// patience bounds how long nothing is said of an origin of which something is on its way:
// a definition, a schema, or an informer that fills. It deserves no complaint; if it fails,
// a later verdict says so.
type patience struct {
	// quiet is until when nothing is said in any case.
	quiet time.Time
	until map[source.Origin]time.Time
}

func newPatience(now time.Time) *patience {
	return &patience{quiet: now.Add(patienceAtStart), until: make(map[source.Origin]time.Time)}
}

// over tells whether the patience with an origin is over, and how long it is until that
// should be asked again. The first call begins it; where it is over it begins anew.
func (p *patience) over(origin source.Origin, now time.Time) (over bool, left time.Duration) {
	until, begun := p.until[origin]
	over = begun && !now.Before(until)
	if over || !begun {
		until = now.Add(patienceLimit)
		if !over && until.Before(p.quiet) {
			until = p.quiet
		}
		p.until[origin] = until
	}
	return over, until.Sub(now)
}

// keep forgets the origins of which nothing is on its way.
func (p *patience) keep(busy map[source.Origin]bool) {
	maps.DeleteFunc(p.until, func(origin source.Origin, _ time.Time) bool { return !busy[origin] })
}
