package engine

import (
	"time"

	"kanon.dev/kanon/engine/source"
)

// patienceLimit bounds how long nothing is said of what is on its way.
const patienceLimit = 5 * time.Second

// patience bounds how long nothing is said of an origin of which something is on its way:
// a definition, a schema, or an informer that fills. It deserves no complaint; if it fails,
// a later verdict says so.
type patience map[source.Origin]time.Time

// over tells whether the patience with an origin is over, and how long it is until that
// should be asked again. The first call begins it; where it is over it begins anew.
func (p patience) over(origin source.Origin, now time.Time) (over bool, left time.Duration) {
	until, begun := p[origin]
	over = begun && !now.Before(until)
	if over || !begun {
		until = now.Add(patienceLimit)
		p[origin] = until
	}
	return over, until.Sub(now)
}

// end forgets an origin of which nothing is on its way.
func (p patience) end(origin source.Origin) { delete(p, origin) }
