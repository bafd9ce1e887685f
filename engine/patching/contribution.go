package patching

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// contributor distinguishes a parent from others of its name.
type contributor struct {
	UID types.UID
	// Created is when the parent was created: if two contradict each other, the older one wins.
	Created time.Time
}

// contribution is what one parent sets by one patch, as its reconcile found it.
type contribution struct {
	contributor

	// Parts has what is set in each target.
	Parts map[types.NamespacedName]*Part
	// Doubtful are targets for which the contribution is currently unknown. Open is true if any other target may be
	// one, too.
	Doubtful map[types.NamespacedName]bool
	Open     bool

	// known is true once the whole contribution was known: then a target without a part gets nothing.
	known bool
}

// doubts returns about which targets the contribution was never known; open: about any.
func (c *contribution) doubts() (open bool, targets map[types.NamespacedName]bool) {
	switch {
	case c == nil || c.known:
		return false, nil
	case c.Open:
		return true, nil
	default:
		return false, c.Doubtful
	}
}

// doubts are parents whose contribution was never known. While there are any, nothing is removed from the targets.
type doubts struct {
	of map[types.NamespacedName]bool
	// named is the parent that messages name; empty if there is none. It stays the same while it is in doubt, so that
	// messages rarely change. A random one follows it, so that of n doubts that end in any order, about log n are
	// named.
	named types.NamespacedName
}

func (d *doubts) exist() bool { return len(d.of) > 0 }

func (d *doubts) add(parent types.NamespacedName) {
	if d.of == nil {
		d.of, d.named = make(map[types.NamespacedName]bool), parent
	}
	d.of[parent] = true
}

// remove ends a doubt, and reports whether named changed.
func (d *doubts) remove(parent types.NamespacedName) (renamed bool) {
	if delete(d.of, parent); d.named != parent {
		return false
	}
	for d.named = range d.of { // in random order
		return true
	}
	*d = doubts{}
	return true
}
