package rollout

import (
	"kanon.dev/kanon/rules/program/template"
)

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
