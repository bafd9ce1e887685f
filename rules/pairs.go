package rules

import (
	"fmt"
	"slices"

	"github.com/google/cel-go/common/types/ref"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// familyItems are the items of one child, which another one has too.
type familyItems struct {
	// tuples are the values of the forEach names for each item. They are computed
	// once, for the child that has the forEach.
	known   bool
	tuples  [][]ref.Val
	problem *problem
	// pairs say what became of each item; nil before the child is rendered.
	pairs []pair
}

// pair is what became of one item.
type pair struct {
	// item is one more than its index in nodeState.items; 0: it is not there.
	item    int
	skipped bool
	// uncreated is true where createWhen keeps it from being made.
	uncreated bool
	problem   *problem
}

// itemsOf are the items of a forEach.
func (e *Evaluation) itemsOf(i int) ([][]ref.Val, *problem) {
	child := e.prog.children[i]
	if !child.sameItems {
		return e.tuples(&child.body)
	}
	own := e.ownReads()
	if own.items == nil {
		own.items = make([]familyItems, len(e.nodes))
	}
	root := &own.items[child.root]
	if !root.known {
		root.known = true
		root.tuples, root.problem = e.tuples(&child.body)
	}
	return root.tuples, root.problem
}

// renderPaired renders one item of a forEach, and notes what became of it for
// those that are paired with it.
func (e *Evaluation) renderPaired(i int, it *item) *problem {
	child := e.prog.children[i]
	if !child.sameItems {
		return e.renderItem(child, it)
	}
	own := &e.reads.items[i]
	if own.pairs == nil {
		own.pairs = make([]pair, len(e.reads.items[child.root].tuples))
	}
	p := e.pairsNotReady(child, it.scope.index)
	if p == nil {
		p = e.renderItem(child, it)
	}
	own.pairs[it.scope.index] = pair{
		skipped: p == nil && it.object == nil, uncreated: it.fate == fateUncreated, problem: p,
	}
	return p
}

// notePairs notes where the items are that were rendered.
func (e *Evaluation) notePairs(i int) {
	if !e.prog.children[i].sameItems {
		return
	}
	for j := range e.nodes[i].items {
		e.reads.items[i].pairs[e.nodes[i].items[j].scope.index].item = j + 1
	}
}

// samePairs says whether two children have the same items.
func (p *Program) samePairs(i, j int) bool {
	a, b := p.children[i], p.children[j]
	return a.sameItems && b.sameItems && a.root == b.root
}

// pairsNotReady says which of the paired items that an item depends on is not
// ready, and why.
func (e *Evaluation) pairsNotReady(child *compiledChild, index int32) *problem {
	for _, j := range child.waitsFor {
		other := e.prog.children[j]
		if !other.sameItems || other.root != child.root {
			continue
		}
		if p := e.pairNotReady(j, index); p != nil {
			return waiting("waits for %s to be ready: %s", other.ID, p.text()).under("dependsOn")
		}
	}
	return nil
}

func (e *Evaluation) pairNotReady(j int, index int32) *problem {
	n := &e.nodes[j]
	at := e.pair(j, index)
	switch {
	case at == nil && n.problem != nil:
		return n.problem
	case at == nil || at.item == 0 && at.problem == nil && !at.skipped && !at.uncreated:
		return waiting("it is not up to date")
	case at.skipped, at.uncreated:
		return nil
	case at.problem != nil:
		return at.problem
	}
	it := &n.items[at.item-1]
	if it.live == nil {
		return waiting("it is not up to date")
	}
	p := e.itemNotReady(e.prog.children[j], it)
	if p == nil {
		return nil
	}
	return &problem{verdict: p.verdict, missing: p.missing, path: p.path, message: fmt.Sprintf("%s: %s", it.live.GetName(), p.message), advice: p.advice}
}

// pair is what became of an item of a child; nil where nothing is known of it.
func (e *Evaluation) pair(i int, index int32) *pair {
	if e.isLeftOut(e.prog.children[i]) {
		return &pair{skipped: true}
	}
	if e.reads == nil || i >= len(e.reads.items) || int(index) >= len(e.reads.items[i].pairs) {
		return nil
	}
	return &e.reads.items[i].pairs[index]
}

// eachView is each in expressions.
type eachView scope

// Member implements celenv.Members.
func (v *eachView) Member(id string) (any, bool, error) {
	i, ok := v.ev.prog.byID[id]
	if !ok {
		return nil, false, nil
	}
	at := v.ev.pair(i, v.index)
	switch {
	case at != nil && at.skipped:
		return nil, false, &problem{verdict: skips, message: "each." + id + " is skipped, because " + v.ev.whySkipped(i), advice: "read it as each.?" + id}
	case at != nil && at.uncreated:
		return nil, false, &problem{verdict: skips, message: "each." + id + " does not exist and is not created, because its createWhen is false", advice: "read it as each.?" + id}
	case at == nil || at.item == 0:
		return nil, false, waiting("each.%s does not exist yet", id)
	}
	live := v.ev.nodes[i].items[at.item-1].live
	if live == nil {
		return nil, false, v.ev.nodes[i].absent("each." + id)
	}
	return live.Object, true, nil
}

// observedView is observed in expressions.
type observedView scope

// Member implements celenv.Members.
func (v *observedView) Member(id string) (any, bool, error) {
	e := v.ev
	i, ok := e.prog.byID[id]
	if !ok {
		return nil, false, nil
	}
	if v.readsOwn && v.own.child == id {
		return v.own.object, true, nil
	}
	own := e.ownReads()
	if own.observed == nil {
		own.observed = make([]memo, len(e.nodes))
	}
	m := &own.observed[i]
	if !m.done {
		*m = e.observe(e.prog.children[i])
	}
	return m.member()
}

// observe is what was last seen of the objects of a child: a list of all, or of
// the newest one its object.
func (e *Evaluation) observe(child *compiledChild) memo {
	var seen []*unstructured.Unstructured
	if e.reader != nil {
		var err error
		if seen, err = e.reader.Observed(child.ID); err != nil {
			return memo{done: true, problem: waiting("observed.%s is not known yet: %s", child.ID, err.Error())}
		}
	}
	if child.ForEach {
		return memo{done: true, val: sortedObjects(seen)}
	}
	if len(seen) == 0 {
		return memo{done: true, absent: true}
	}
	newest := slices.MaxFunc(seen, func(a, b *unstructured.Unstructured) int {
		at, bt := a.GetCreationTimestamp(), b.GetCreationTimestamp()
		if c := at.Compare(bt.Time); c != 0 {
			return c
		}
		return byName(b, a) // the first by name is the greatest
	})
	return memo{done: true, val: newest.Object}
}
