package program

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/rules/program/template"
)

// A rollout decides which items of a forEach are updated in this evaluation, from what
// is there alone: which of them were applied with what is rendered now (Reader.Outdated)
// and which are ready. So it goes on after a restart, and goes back when the rule or its
// input does. What is held back is left as it is.

// turn is how an item stands in a rollout.
type turn struct {
	// there is false for one that has to be made.
	there bool
	// outdated is true where it was applied with something else than is rendered now.
	outdated bool
	// notReady says why it is not ready.
	notReady *template.Problem
	// failed is true where its own status says that it will not become ready.
	failed bool
}

// rollOut leaves those items as they are that are not to be updated yet, and leaves out
// those that are not to be made yet.
func (e *Evaluation) rollOut(i int) {
	child, n := e.prog.Children[i], &e.nodes[i]
	if child.Rollout == nil || n.state != nodeRendered {
		return
	}
	turns := make([]turn, len(n.items))
	for j := range n.items {
		turns[j] = e.turnOf(child, &n.items[j])
	}
	missing := n.missing
	if child.Rollout.Ordered {
		e.makeInOrder(n, turns)
	}
	e.updateInOrder(child, n, turns, missing)
	n.dropMissing()
}

func (e *Evaluation) turnOf(child *Child, it *item) turn {
	if it.before == nil {
		return turn{notReady: template.Waiting("it does not exist yet")}
	}
	t := turn{there: true}
	if it.fate == fateWritten && e.reader != nil {
		t.outdated = e.reader.Outdated(child.ID, it.object, it.before)
	}
	probe := *it
	probe.live = it.before
	t.notReady = e.itemNotReady(child, &probe)
	if t.notReady == nil && unobserved(it.before) {
		t.notReady = template.Waiting("its controller has not seen its newest generation yet")
	}
	if t.notReady != nil {
		t.failed = t.notReady.Verdict != template.Waits || hasFailed(it.before)
	}
	return t
}

// unobserved says whether the status of an object is about an older generation of it.
func unobserved(obj *unstructured.Unstructured) bool {
	observed, found, err := unstructured.NestedInt64(obj.Object, "status", "observedGeneration")
	return found && err == nil && observed < obj.GetGeneration()
}

// makeInOrder lets an item be made only when all before it are ready.
func (e *Evaluation) makeInOrder(n *nodeState, turns []turn) {
	var before *template.Problem
	failed := false
	for j := range n.items {
		it, t := &n.items[j], &turns[j]
		if before == nil && n.leftOut > 0 && it.scope.index >= n.leftOut {
			before = n.problem
		}
		switch {
		case !t.there && before != nil:
			n.leaveOut(it.scope.index, template.Waiting("%s is created when those before it are ready: %s", it.object.GetName(), before.Text()).Under("rollout.order"))
			n.stalled = n.stalled || failed
			it.object = nil
		case t.notReady != nil && before == nil:
			before = template.Waiting("%s: %s", it.object.GetName(), t.notReady.Text())
			failed = t.failed
		}
	}
}

// updateInOrder lets outdated items be updated, from the last to the first, as long as
// fewer than maxUnavailable of them are not ready, for whatever reason. One that is not
// ready anyway does not wait for that, so that a change which mends it reaches it; but
// of those that have been updated, no more than maxUnavailable may be not ready. Items
// of which nothing is known, because they could not be rendered, count as not ready.
func (e *Evaluation) updateInOrder(child *Child, n *nodeState, turns []turn, unknown int) {
	limit, p := e.maxUnavailable(child.Rollout, len(turns)+unknown)
	unavailable, underWay := unknown, 0
	for j, t := range turns {
		if t.notReady != nil {
			unavailable++
		}
		if t.underWay() && n.items[j].object != nil {
			underWay++
		}
	}
	left := 0
	for j := len(turns) - 1; j >= 0; j-- {
		t, it := &turns[j], &n.items[j]
		goes := underWay < limit && (t.notReady != nil || unavailable < limit)
		switch {
		case !t.outdated:
		case int64(it.scope.index) < child.Rollout.Partition:
			it.holdBack()
		case !goes:
			it.holdBack()
			left++
		default:
			underWay++
			if t.notReady == nil {
				unavailable++
			}
		}
	}
	if left > 0 {
		stalled := false
		n.rollingOut, stalled = n.explain(turns, left, p)
		n.stalled = n.stalled || stalled
	}
}

// underWay says whether an item has been updated, or is being made, and is not ready.
func (t turn) underWay() bool { return t.notReady != nil && !t.outdated }

// holdBack leaves an item as it is. One that is to be created again is, all the same.
func (it *item) holdBack() {
	it.held = true
	if !it.renewal.IsDue() {
		it.fate, it.live = fateKept, it.before
	}
}

// explain says what a rollout waits for, and whether it waits in vain.
func (n *nodeState) explain(turns []turn, left int, unknown *template.Problem) (p *template.Problem, stalled bool) {
	text := fmt.Sprintf("%d of %d items are still to be updated", left, len(turns))
	if unknown != nil {
		return template.Waiting("%s; %s", text, unknown.Text()).Under(unknown.Path).Under("rollout"), unknown.Verdict != template.Waits
	}
	blocks := -1
	for j, t := range turns {
		// The last of those that are under way, or else the last that is not ready.
		if t.notReady != nil && n.items[j].object != nil && (blocks < 0 || t.underWay() || !turns[blocks].underWay()) {
			blocks = j
		}
	}
	if blocks >= 0 {
		text += fmt.Sprintf("; waits for %s: %s", n.items[blocks].object.GetName(), turns[blocks].notReady.Error())
		stalled = turns[blocks].failed
	}
	return template.Waiting("%s", text).Under("rollout"), stalled
}

// maxUnavailable is how many items may be not ready at the same time.
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
