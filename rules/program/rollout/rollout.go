package rollout

import (
	"kanon.dev/kanon/rules/program/template"
)

// Policy is the rollout of a rule.
type Policy struct {
	// Ordered is true if an item is created only once all items before it are ready.
	Ordered bool
	// Partition is the index of the first item that is updated.
	Partition int64
	// MaxUnavailable is how many items may be unready at the same time.
	MaxUnavailable int
	// Unknown is why MaxUnavailable is not known; nil if it is. Nothing is updated while it is unknown.
	Unknown *template.Problem
}

// Item is the state of one item.
type Item struct {
	// Name is the name of its object, for messages.
	Name string
	// Index is its position among all items of the forEach.
	Index int
	// Exists is false for an item that has to be created.
	Exists bool
	// Outdated is true if it was applied as something else than is rendered now.
	Outdated bool
	// NotReady is why it is not ready; nil if it is. An item that does not exist is not ready.
	NotReady *template.Problem
	// Failed is true if its own status says that it will not become ready.
	Failed bool
}

// underWay reports whether an item was updated, or is being created, and is not ready yet.
func (i *Item) underWay() bool { return i.NotReady != nil && !i.Outdated }

// Gap describes the items that could not be rendered.
type Gap struct {
	// Count is their number. They count as not ready.
	Count int
	// After is the index of the first item that is not up to date, and Why the reason; nil if there is none.
	After int
	Why   *template.Problem
}

// Step is what may happen to an item now.
type Step uint8

const (
	// Proceed means that the rollout does not block the item.
	Proceed Step = iota
	// Hold means that the item exists, and is left as it is for now.
	Hold
	// Postpone means that the item does not exist, and is not created yet.
	Postpone
)

// Decision is what may happen now.
type Decision struct {
	// Steps has one for each item.
	Steps []Step
	// Postponed is why items with Postpone are not created yet, by their index in Steps.
	Postponed map[int]*template.Problem
	// Waits is what the update of the remaining items waits for; nil if none remains.
	Waits *template.Problem
	// Stalled is true if the rollout waits in vain.
	Stalled bool
}

// Decide decides about the items, which are in the order of the forEach.
func Decide(policy Policy, items []Item, gap Gap) Decision {
	d := Decision{Steps: make([]Step, len(items))}
	if policy.Ordered {
		d.createInOrder(items, gap)
	}
	d.update(policy, items, gap.Count)
	return d
}

// createInOrder allows the creation of an item once all items before it are ready.
func (d *Decision) createInOrder(items []Item, gap Gap) {
	var before *template.Problem
	failed := false
	for i := range items {
		it := &items[i]
		if before == nil && gap.Why != nil && it.Index > gap.After {
			before = gap.Why
		}
		switch {
		case !it.Exists && before != nil:
			d.postpone(i, template.Waiting("%s is created when those before it are ready: %s", it.Name, before.Text()).Under("rollout.order"))
			d.Stalled = d.Stalled || failed
		case it.NotReady != nil && before == nil:
			before = template.Waiting("%s: %s", it.Name, it.NotReady.Text())
			failed = it.Failed
		}
	}
}

func (d *Decision) postpone(i int, why *template.Problem) {
	if d.Postponed == nil {
		d.Postponed = make(map[int]*template.Problem)
	}
	d.Steps[i], d.Postponed[i] = Postpone, why
}
