package program

import (
	"kanon.dev/kanon/rules/program/rollout"
	"kanon.dev/kanon/rules/program/template"
	"kanon.dev/kanon/rules/readiness"
)

// rollOut keeps the items as they are that must not be updated yet, and leaves out those that must not be created yet.
func (e *Evaluation) rollOut(i int) {
	child, n := e.prog.Children[i], &e.nodes[i]
	if child.Rollout == nil || n.state != nodeRendered {
		return
	}
	items := make([]rollout.Item, len(n.items))
	for j := range n.items {
		items[j] = e.rolloutItem(child, &n.items[j])
	}
	policy := rollout.Policy{Ordered: child.Rollout.Ordered, Partition: child.Rollout.Partition}
	policy.MaxUnavailable, policy.Unknown = e.maxUnavailable(child.Rollout, len(items)+n.missing)
	gap := rollout.Gap{Count: n.missing}
	if n.leftOut > 0 {
		gap.After, gap.Why = int(n.leftOut)-1, n.problem
	}
	n.follow(rollout.Decide(policy, items, gap))
	n.dropMissing()
}

// follow applies a decision to the items.
func (n *nodeState) follow(d rollout.Decision) {
	for j, step := range d.Steps {
		switch it := &n.items[j]; step {
		case rollout.Postpone:
			n.leaveOut(it.scope.index, d.Postponed[j])
			it.object = nil
		case rollout.Hold:
			it.holdBack()
		case rollout.Proceed:
		}
	}
	n.rollingOut, n.stalled = d.Waits, d.Stalled
}

// holdBack leaves an item as it is, unless it is recreated.
func (it *item) holdBack() {
	it.held = true
	if !it.recreation.IsDue() {
		it.fate, it.live = fateKept, it.before
	}
}

// rolloutItem is the state of an item for package rollout.
func (e *Evaluation) rolloutItem(child *Child, it *item) rollout.Item {
	out := rollout.Item{Name: it.object.GetName(), Index: int(it.scope.index)}
	if it.before == nil {
		out.NotReady = template.Waiting("it does not exist yet")
		return out
	}
	out.Exists = true
	if it.fate == fateWritten && e.reader != nil {
		out.Outdated = e.reader.Outdated(child.ID, it.object, it.before)
	}
	probe := *it
	probe.live = it.before
	out.NotReady = e.itemNotReady(child, &probe)
	if out.NotReady == nil && !readiness.SawNewest(it.before) {
		out.NotReady = template.Waiting("its controller has not seen its newest generation yet")
	}
	if out.NotReady != nil {
		out.Failed = out.NotReady.Verdict != template.Waits || readiness.HasFailed(it.before)
	}
	return out
}

// maxUnavailable is how many items may be unready at the same time.
func (e *Evaluation) maxUnavailable(r *Rollout, items int) (int, *template.Problem) {
	share := r.Share
	if r.Max != nil {
		var p *template.Problem
		if share, p = template.ShareOf(r.Max, &e.base); p != nil {
			return 0, p.Under("maxUnavailable")
		}
	}
	return share.Of(items), nil
}
