package contributions

import (
	"math/rand/v2"
)

// doubt is that a parent was never known, since the rule's start, to contribute this or that: to one target, or to any where the
// target is nil.
type doubt struct {
	about  *contribution
	target *target
	at     int // the place among the doubts
}

// doubts are those of one patch about all targets, or about a single one. As long as there are any, nothing is taken out of the
// targets.
type doubts struct {
	all []*doubt
	// named is the one that people are told of. It stays the same as long as it lasts, so that nobody is told something else at
	// every turn; after it comes any other, so that of n that end in whatever order, about log n were named.
	named *doubt
}

func (d *doubts) add(it *doubt) {
	it.at = len(d.all)
	d.all = append(d.all, it)
	if d.named == nil {
		d.named = it
	}
}

// remove ends a doubt, and tells whether another one is named now, or none.
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
