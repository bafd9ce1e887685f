package rollout

import (
	"fmt"
	"slices"

	"kanon.dev/kanon/rules/program/template"
)

// update allows outdated items to be updated, from the last to the first, as long as fewer than MaxUnavailable items
// are unready for any reason. An item that is unready anyway does not wait, so that a change which repairs it reaches
// it; but of the updated items, at most MaxUnavailable may be unready. unknown is the number of items that could not be
// rendered; none of them counts as ready.
func (d *Decision) update(policy Policy, items []Item, unknown int) {
	unavailable, underWay := unknown, 0
	for i := range items {
		if items[i].NotReady != nil {
			unavailable++
		}
		if items[i].underWay() && d.Steps[i] != Postpone {
			underWay++
		}
	}
	left := 0
	for i := range slices.Backward(items) {
		it := &items[i]
		goes := underWay < policy.MaxUnavailable && (it.NotReady != nil || unavailable < policy.MaxUnavailable)
		switch {
		case !it.Outdated:
		case int64(it.Index) < policy.Partition:
			d.Steps[i] = Hold
		case !goes:
			d.Steps[i] = Hold
			left++
		default:
			underWay++
			if it.NotReady == nil {
				unavailable++
			}
		}
	}
	if left > 0 {
		d.explain(policy, items, left)
	}
}

// explain sets what the update of the remaining items waits for, and whether it waits in vain.
func (d *Decision) explain(policy Policy, items []Item, left int) {
	text := fmt.Sprintf("%d of %d items are still to be updated", left, len(items))
	if unknown := policy.Unknown; unknown != nil {
		d.Waits = template.Waiting("%s; %s", text, unknown.Text()).Under(unknown.Path).Under("rollout")
		d.Stalled = d.Stalled || unknown.Verdict != template.Waits
		return
	}
	if blocks := d.blocking(items); blocks != nil {
		text += fmt.Sprintf("; waits for %s: %s", blocks.Name, blocks.NotReady.Error())
		d.Stalled = d.Stalled || blocks.Failed
	}
	d.Waits = template.Waiting("%s", text).Under("rollout")
}

// blocking is the last of the items that are under way, or else the last unready item; nil if all are ready.
func (d *Decision) blocking(items []Item) *Item {
	var found *Item
	for i := range items {
		it := &items[i]
		if it.NotReady != nil && d.Steps[i] != Postpone && (found == nil || it.underWay() || !found.underWay()) {
			found = it
		}
	}
	return found
}
