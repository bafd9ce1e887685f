package program

import (
	"fmt"
	"slices"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/rules/readiness"
)

// notReady is why a child is not ready; nil if it is. A child that is skipped or not to be created counts as ready; one
// that is not up to date does not.
func (e *Evaluation) notReady(i int) *Problem {
	n := &e.nodes[i]
	switch n.state {
	case nodeSkipped, nodeUncreated:
		return nil
	case nodeApplied:
	default:
		if n.problem != nil {
			return n.problem
		}
		return Waiting("it is not up to date")
	}
	if n.readyKnown {
		return n.notReady
	}
	n.readyKnown = true
	if n.rollingOut != nil && (n.stalled || !e.hasFailed(i)) {
		n.notReady = n.rollingOut
		return n.notReady
	}
	child := e.prog.Children[i]
	for j := range n.items {
		failed := isFailed(child, n.items[j])
		if n.notReady != nil && !failed {
			continue // an object that has failed says more than the first that is not ready
		}
		p := e.itemNotReady(child, &n.items[j])
		if p == nil {
			continue
		}
		if child.IsList {
			p = p.Of(n.items[j].live.GetName())
		}
		if n.notReady = p; failed {
			break
		}
	}
	return n.notReady
}

// WhyNotReady says why one object of a node is not ready. The object comes from Next, in Objects or Kept. The result is
// empty for an object that is ready, and for one that does not exist. Call it after Result.
func (e *Evaluation) WhyNotReady(node string, object *unstructured.Unstructured) Problem {
	i, ok := e.prog.ByID[node]
	if !ok {
		return Problem{}
	}
	items := e.nodes[i].items
	j := slices.IndexFunc(items, func(it item) bool { return it.object == object })
	if j < 0 || items[j].live == nil {
		return Problem{}
	}
	p := e.itemNotReady(e.prog.Children[i], &items[j])
	if p == nil {
		return Problem{}
	}
	return *p
}

// itemNotReady is why one object is not ready. If readyWhen waits, the object is not ready.
func (e *Evaluation) itemNotReady(child *Child, it *item) *Problem {
	if child.ReadyWhen == nil {
		return e.notCurrent(it)
	}
	ok, p := child.ReadyWhen.Holds(it.scope.of(it.live), "readyWhen")
	if p == nil && !ok {
		return Waiting("%s is false", Shorten(child.ReadyWhen.Text)).Under("readyWhen")
	}
	return p
}

func (e *Evaluation) notCurrent(it *item) *Problem {
	result, err := readiness.Of(it.live, e.prog.StatusKinds[it.live.GroupVersionKind()])
	switch {
	case err != nil:
		return Failure("its status cannot be understood: %s", err.Error())
	case result.Status == status.CurrentStatus:
		return nil
	}
	return Waiting("%s", result)
}

// hasFailed reports whether the node has an object that will not become ready as it is.
func (e *Evaluation) hasFailed(i int) bool {
	child := e.prog.Children[i]
	return slices.ContainsFunc(e.nodes[i].items, func(it item) bool { return isFailed(child, it) })
}

// isFailed reports whether an object of a child without readyWhen has failed.
func isFailed(child *Child, it item) bool {
	return child.ReadyWhen == nil && it.live != nil && readiness.HasFailed(it.live)
}

// rollOut keeps the items as they are that must not be updated yet, and leaves out those that must not be created yet.
func (e *Evaluation) rollOut(i int) {
	child, n := e.prog.Children[i], &e.nodes[i]
	if child.Rollout == nil || n.state != nodeRendered {
		return
	}
	items := make([]rolloutItem, len(n.items))
	for j := range n.items {
		items[j] = e.rolloutItem(child, &n.items[j])
	}
	policy := rolloutPolicy{Ordered: child.Rollout.Ordered, Partition: child.Rollout.Partition}
	policy.MaxUnavailable, policy.Unknown = e.maxUnavailable(child.Rollout, len(items)+n.missing)
	gap := rolloutGap{Count: n.missing}
	if n.leftOut > 0 {
		gap.After, gap.Why = int(n.leftOut)-1, n.problem
	}
	n.follow(decideRollout(policy, items, gap))
	n.dropMissing()
}

func (n *nodeState) follow(d rolloutDecision) {
	for j, step := range d.Steps {
		switch it := &n.items[j]; step {
		case postpone:
			n.leaveOut(it.scope.index, d.Postponed[j])
			it.object = nil
		case hold:
			it.holdBack()
		case proceed:
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

func (e *Evaluation) rolloutItem(child *Child, it *item) rolloutItem {
	out := rolloutItem{Name: it.object.GetName(), Index: int(it.scope.index)}
	if it.before == nil {
		out.NotReady = Waiting("it does not exist yet")
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
		out.NotReady = Waiting("its controller has not seen its newest generation yet")
	}
	if out.NotReady != nil {
		out.Failed = out.NotReady.Verdict != Waits || readiness.HasFailed(it.before)
	}
	return out
}

// maxUnavailable is how many items may be unready at the same time.
func (e *Evaluation) maxUnavailable(r *Rollout, items int) (int, *Problem) {
	share := r.Share
	if r.Max != nil {
		var p *Problem
		if share, p = ShareOf(r.Max, &e.base); p != nil {
			return 0, p.Under("maxUnavailable")
		}
	}
	return share.Of(items), nil
}

// rolloutPolicy is the rollout of a rule.
type rolloutPolicy struct {
	// Ordered is true if an item is created only once all items before it are ready.
	Ordered bool
	// Partition is the index of the first item that is updated.
	Partition int64
	// MaxUnavailable is how many items may be unready at the same time.
	MaxUnavailable int
	// Unknown is why MaxUnavailable is not known; nil if it is. Nothing is updated while it is unknown.
	Unknown *Problem
}

// rolloutItem is the state of one item.
type rolloutItem struct {
	// Name is the name of its object, for messages.
	Name string
	// Index is its position among all items of the forEach.
	Index int
	// Exists is false for an item that has to be created.
	Exists bool
	// Outdated is true if it was applied as something else than is rendered now.
	Outdated bool
	// NotReady is why it is not ready; nil if it is. An item that does not exist is not ready.
	NotReady *Problem
	// Failed is true if its own status says that it will not become ready.
	Failed bool
}

// underWay reports whether an item was updated, or is being created, and is not ready yet.
func (i *rolloutItem) underWay() bool { return i.NotReady != nil && !i.Outdated }

// rolloutGap describes the items that could not be rendered.
type rolloutGap struct {
	// Count is their number. They count as not ready.
	Count int
	// After is the index of the first item that is not up to date, and Why the reason; nil if there is none.
	After int
	Why   *Problem
}

// rolloutStep is what may happen to an item now.
type rolloutStep uint8

const (
	// proceed means that the rollout does not block the item.
	proceed rolloutStep = iota
	// hold means that the item exists, and is left as it is for now.
	hold
	// postpone means that the item does not exist, and is not created yet.
	postpone
)

// rolloutDecision is what may happen now.
type rolloutDecision struct {
	// Steps has one for each item.
	Steps []rolloutStep
	// Postponed is why items with Postpone are not created yet, by their index in Steps.
	Postponed map[int]*Problem
	// Waits is what the update of the remaining items waits for; nil if none remains.
	Waits *Problem
	// Stalled is true if the rollout waits in vain.
	Stalled bool
}

func decideRollout(policy rolloutPolicy, items []rolloutItem, gap rolloutGap) rolloutDecision {
	d := rolloutDecision{Steps: make([]rolloutStep, len(items))}
	if policy.Ordered {
		d.createInOrder(items, gap)
	}
	d.update(policy, items, gap.Count)
	return d
}

// createInOrder allows the creation of an item once all items before it are ready.
func (d *rolloutDecision) createInOrder(items []rolloutItem, gap rolloutGap) {
	var before *Problem
	failed := false
	for i := range items {
		it := &items[i]
		if before == nil && gap.Why != nil && it.Index > gap.After {
			before = gap.Why
		}
		switch {
		case !it.Exists && before != nil:
			d.postpone(i, Waiting("%s is created when those before it are ready: %s", it.Name, before.Text()).Under("rollout.order"))
			d.Stalled = d.Stalled || failed
		case it.NotReady != nil && before == nil:
			before = Waiting("%s: %s", it.Name, it.NotReady.Text())
			failed = it.Failed
		}
	}
}

func (d *rolloutDecision) postpone(i int, why *Problem) {
	if d.Postponed == nil {
		d.Postponed = make(map[int]*Problem)
	}
	d.Steps[i], d.Postponed[i] = postpone, why
}

// update allows outdated items to be updated, from the last to the first, as long as fewer than MaxUnavailable items
// are unready for any reason. An item that is unready anyway does not wait, so that a change which repairs it reaches
// it; but of the updated items, at most MaxUnavailable may be unready. unknown is the number of items that could not be
// rendered; none of them counts as ready.
func (d *rolloutDecision) update(policy rolloutPolicy, items []rolloutItem, unknown int) {
	unavailable, underWay := unknown, 0
	for i := range items {
		if items[i].NotReady != nil {
			unavailable++
		}
		if items[i].underWay() && d.Steps[i] != postpone {
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
			d.Steps[i] = hold
		case !goes:
			d.Steps[i] = hold
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
func (d *rolloutDecision) explain(policy rolloutPolicy, items []rolloutItem, left int) {
	text := fmt.Sprintf("%d of %d items are still to be updated", left, len(items))
	if unknown := policy.Unknown; unknown != nil {
		d.Waits = Waiting("%s; %s", text, unknown.Text()).Under(unknown.Path).Under("rollout")
		d.Stalled = d.Stalled || unknown.Verdict != Waits
		return
	}
	if blocks := d.blocking(items); blocks != nil {
		text += fmt.Sprintf("; waits for %s: %s", blocks.Name, blocks.NotReady.Error())
		d.Stalled = d.Stalled || blocks.Failed
	}
	d.Waits = Waiting("%s", text).Under("rollout")
}

// blocking is the last of the items that are under way, or else the last unready item; nil if all are ready.
func (d *rolloutDecision) blocking(items []rolloutItem) *rolloutItem {
	var found *rolloutItem
	for i := range items {
		it := &items[i]
		if it.NotReady != nil && d.Steps[i] != postpone && (found == nil || it.underWay() || !found.underWay()) {
			found = it
		}
	}
	return found
}
