package contributions

import (
	"math/rand/v2"
)

// doubt means that since the rule's start, it was never known what a parent contributes: to one target, or to any
// target if target is nil.
type doubt struct {
	about  *contribution
	target *target
	at     int // the index in doubts.all
}

// doubts are the doubts of one patch: about all targets, or about a single one. While there are any, nothing is
// removed from the targets.
type doubts struct {
	all []*doubt
	// named is the doubt that messages name. It stays the same while it lasts, so that messages rarely change. A
	// random one follows it, so that of n doubts that end in any order, about log n are named.
	named *doubt
}

func (d *doubts) add(it *doubt) {
	it.at = len(d.all)
	d.all = append(d.all, it)
	if d.named == nil {
		d.named = it
	}
}

// remove ends a doubt, and reports whether named changed.
func (d *doubts) remove(it *doubt) (renamed bool) {
	last := len(d.all) - 1
	d.all[it.at] = d.all[last]
	d.all[it.at].at = it.at
	d.all[last] = nil
	d.all = d.all[:last]
	if d.named != it {
		return false
	}
	d.named = nil
	if last > 0 {
		d.named = d.all[rand.IntN(last)]
	} else {
		d.all = nil
	}
	return true
}
