package engine

import (
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"kanon.dev/kanon/engine/operator"
	"kanon.dev/kanon/engine/plan"
	"kanon.dev/kanon/engine/source"
)

// countPause is how long objects may be created and deleted before those of a rule are counted: a thousand parents that are
// created at once are not a thousand changes of its status.
const countPause = 5 * time.Second

// objectCounts has the objects of rules counted after some were created or deleted, for the status of Rule objects. While there
// are none of these it does nothing.
type objectCounts struct {
	// wanted is true if a status shows the counts, and due while a count is due.
	wanted, due atomic.Bool
	// count has them counted.
	count func()
}

// changed notes that an object was created or deleted.
func (c *objectCounts) changed() {
	if c.wanted.Load() && c.due.CompareAndSwap(false, true) {
		time.AfterFunc(countPause, func() {
			c.due.Store(false)
			c.count()
		})
	}
}

// countObjects adds to the reports on Rule objects how many parents and children the rules have.
func (p *publisher) countObjects(reports map[source.Origin]source.Report) {
	e, wanted := p.engine, false
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

// objectsOf is how many parents a rule selects, as far as their labels and namespaces tell, and how many children it has. It
// decodes none of them: that would take a second for 20,000 parents and their children, each time that one is created or deleted.
func (e *Engine) objectsOf(op *operator.Operator) (parents, children int) {
	for _, parent := range e.monitors.Unread(op.ParentKey) { // which has only parents with the labels
		if op.SelectsNamespace(parent.Namespace(), plan.NamespaceLabels(e.monitors)) == plan.Selected {
			parents++
		}
	}
	seen := sets.New[types.UID]() // a kind may be watched in two versions
	for child := range op.EachChild(e.monitors) {
		seen.Insert(child.UID())
	}
	return parents, seen.Len()
}
