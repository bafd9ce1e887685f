package reconcile

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/queue"
	"kanon.dev/kanon/rules/program"
)

// Observed is what one reconcile evaluated, wrote and found, for those who show it.
type Observed struct {
	Key    queue.Key
	Parent *unstructured.Unstructured
	// Evaluation is nil if the rule was not evaluated. Rendered is true if all of it was, so that Result is set.
	Evaluation *program.Evaluation
	Rendered   bool
	Result     program.Result
	// Lookups are the lookups, in the order of the evaluation.
	Lookups []Lookup
	// Nodes are the nodes in the order in which they were written, and Writes their objects, in the order of the nodes.
	Nodes  []program.Rendered
	Writes []Write
	// Problems are what blocks the parent.
	Problems []conditions.Problem
}

// Lookup is one query of the rule, and its result.
type Lookup struct {
	Query program.Query
	// Found is empty if nothing exists, or if the query failed with Err.
	Found []*unstructured.Unstructured
	Err   error
}

// Write is one object of a node, and what became of it.
type Write struct {
	Node   string
	Object *unstructured.Unstructured
	// Before is the object before the write, and Live after it. Either is nil if it does not exist, or is not the
	// parent's.
	Before, Live *unstructured.Unstructured
	Policy       fieldset.Policy
	Err          error
	// Recreated is why the object was deleted to be recreated; empty if it was not.
	Recreated string
	// Adopted says that the object existed already and became a child, and whose fields were taken over; empty if it was
	// created, or a child before.
	Adopted string
}

// handOut hands out what a pass found, if somebody wants to know.
func (p *pass) handOut() {
	if p.r.Observe == nil {
		return
	}
	p.r.Observe(Observed{
		Key: p.key, Parent: p.parent, Evaluation: p.evaluation, Rendered: p.isRendered, Result: p.shown,
		Lookups: p.reader.lookups, Nodes: p.nodes, Writes: p.writes, Problems: p.problems,
	})
}
