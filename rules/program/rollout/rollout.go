package rollout

import (
	"kanon.dev/kanon/rules/program/template"
)

// Policy is what the rule says of a rollout.
type Policy struct {
	// Ordered has an item created only when all before it are ready.
	Ordered bool
	// Partition is the first item that is updated, by its index.
	Partition int64
	// MaxUnavailable is how many items may be not ready at the same time.
	MaxUnavailable int
	// Unknown says why MaxUnavailable is not known; nil where it is. Nothing is updated then.
	Unknown *template.Problem
}

// Item is how one item stands.
type Item struct {
	// Name is that of its object, for messages.
	Name string
	// Index is its place among all items of the forEach.
	Index int
	// Exists is false for one that has to be created.
	Exists bool
	// Outdated is true where it was applied with something else than is rendered now.
	Outdated bool
	// NotReady says why it is not ready; nil where it is. One that does not exist is not.
	NotReady *template.Problem
	// Failed is true where its own status says that it will not become ready.
	Failed bool
}

// underWay says whether an item was updated, or is being created, and is not ready.
func (i *Item) underWay() bool { return i.NotReady != nil && !i.Outdated }

// Gap is what is known of the items that could not be rendered.
type Gap struct {
	// Count is how many they are. They count as not ready.
	Count int
	// After is the index of the first item that is not up to date, and Why the reason; nil where there is none.
	After int
	Why   *template.Problem
}

// Step is what may be done with an item now.
type Step uint8

const (
	// Proceed means that the rollout is not in the way of it.
	Proceed Step = iota
	// Hold means that it exists, and is left as it is for now.
	Hold
	// Postpone means that it does not exist, and is not created yet.
	Postpone
)

// Decision is what may be done now.
type Decision struct {
	// Steps has one for each item.
	Steps []Step
	// Postponed says why items with Postpone are not created yet, by their place in Steps.
	Postponed map[int]*template.Problem
	// Waits says what the update of the other items waits for; nil where none is still to be updated.
	Waits *template.Problem
	// Stalled is true where the rollout waits in vain.
	Stalled bool
}

// Decide says what may be done with items, which are in the order of the forEach.
func Decide(policy Policy, items []Item, gap Gap) Decision {
	d := Decision{Steps: make([]Step, len(items))}
	if policy.Ordered {
		d.createInOrder(items, gap)
	}
	d.update(policy, items, gap.Count)
	return d
}

// createInOrder lets an item be created only when all before it are ready.
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
