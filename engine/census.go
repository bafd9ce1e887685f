package engine

import (
	"context"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"kanon.dev/kanon/engine/source"
)

// censusPause is how long objects may come and go before those of a rule are counted:
// a thousand parents that are made at once are not a thousand changes of its status.
const censusPause = 5 * time.Second

// census has the objects of rules counted after some came or went, for the status of
// Rule objects. While there are none of these it does nothing.
type census struct {
	// wanted is true where somebody shows the counts.
	wanted atomic.Bool
	// signal holds a token when something came or went.
	signal chan struct{}
}

func newCensus() *census { return &census{signal: make(chan struct{}, 1)} }

// mark notes that an object came or went.
func (c *census) mark() {
	if !c.wanted.Load() {
		return
	}
	select {
	case c.signal <- struct{}{}:
	default: // it is noted already
	}
}

// run calls count a while after something came or went, until ctx ends.
func (c *census) run(ctx context.Context, count func()) {
	timer := time.NewTimer(censusPause)
	timer.Stop()
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.signal:
		}
		timer.Reset(censusPause)
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			count()
		}
	}
}

// count fills in how many parents and children the rules of Rule objects have.
func (e *Engine) count(c *catalog, reports map[source.Origin]source.Report) map[source.Origin]source.Report {
	wanted := false
	for _, entry := range c.entries {
		state := c.texts[entry.text]
		if state == nil || state.origin.Rule == (types.NamespacedName{}) {
			continue
		}
		wanted = true
		report := reports[state.origin]
		report.Parents, report.Children = -1, -1
		if op := e.running.load().byID[entry.id]; op != nil && op.removal == nil && e.ready(op) {
			report.Parents, report.Children = e.objectsOf(op)
		}
		reports[state.origin] = report
	}
	e.census.wanted.Store(wanted)
	return reports
}

// objectsOf is how many parents a rule selects, as far as their labels and namespaces
// tell, and how many objects of its making there are. It reads none of them: that would
// take a second of 20,000 parents and their children, each time that one comes or goes.
func (e *Engine) objectsOf(op *operator) (parents, children int) {
	for _, parent := range e.monitors.Unread(op.parentKey) { // which holds no other labels
		if op.selectsNamespace(parent.Namespace(), e.cluster.namespaceLabels) == selected {
			parents++
		}
	}
	seen := sets.New[types.UID]() // a kind may be watched in two versions
	for kind := range op.childKinds() {
		for _, child := range e.monitors.Unread(op.childKey(kind.GVR)) {
			if ruleOfTag(child) == op.id {
				seen.Insert(child.UID())
			}
		}
	}
	return parents, seen.Len()
}
