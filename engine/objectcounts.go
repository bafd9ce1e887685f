package engine

import (
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"kanon.dev/kanon/engine/operator"
	"kanon.dev/kanon/engine/source"
)

// countPause is the delay between the creation or deletion of an object and the count of a rule's objects, so that a
// thousand parents that are created at once do not change the status a thousand times.
const countPause = 5 * time.Second

// objectCounts counts the objects of rules after some were created or deleted, for the status of Rule objects. It does
// nothing while no Rule objects exist.
type objectCounts struct {
	// wanted is true if a status shows the counts, and due while a count is due.
	wanted, due atomic.Bool
	// count starts the count.
	count func()
}

// changed reports that an object was created or deleted.
func (c *objectCounts) changed() {
	if c.wanted.Load() && c.due.CompareAndSwap(false, true) {
		time.AfterFunc(countPause, func() {
			c.due.Store(false)
			c.count()
		})
	}
}

// countObjects adds to the reports on Rule objects how many parents and children the rules have.
func (l *catalogLoop) countObjects(reports map[source.Origin]source.Report) {
	e, wanted := l.engine, false
	for origin, report := range reports {
		if origin.Rule == (types.NamespacedName{}) {
			continue
		}
		for _, rule := range report.Rules {
			wanted = true
			report.Parents, report.Children = -1, -1
			if op := e.running.Get(rule.ID); op != nil && op.Removal == nil && e.ready(op) && e.mayCount(op) {
				report.Parents, report.Children = e.objectsOf(op)
			}
		}
		reports[origin] = report
	}
	e.objectCounts.wanted.Store(wanted)
}

// objectsOf returns how many parents a rule selects, as far as their labels and namespaces show, and how many children
// it has. It decodes none of them: for 20,000 parents and their children that would take a second, each time one is
// created or deleted.
func (e *Engine) objectsOf(op *operator.Operator) (parents, children int) {
	for _, parent := range e.monitors.Unread(op.ParentKey) { // these match the label selector
		if op.SelectsNamespace(parent.Namespace(), operator.NamespaceLabels(e.monitors)) == operator.Selected {
			parents++
		}
	}
	seen := sets.New[types.UID]() // a kind may be watched in two versions
	for child := range op.EachChild(e.monitors) {
		seen.Insert(child.UID())
	}
	return parents, seen.Len()
}

// mayCount reports whether the status of a rule may show how many objects it has.
func (e *Engine) mayCount(op *operator.Operator) bool {
	return !asksForAll(op) || op.ReadsParents.Load()
}
