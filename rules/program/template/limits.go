package template

import (
	"cmp"
	"time"

	"kanon.dev/kanon/rules/celenv/run"
)

// Limits bound what one evaluation of a rule may take, and what may come out of it.
// A field that is zero stands for its default. What goes over a limit fails, with a
// message that names the option of the command line.
type Limits struct {
	// ExpressionCost is the most that one evaluation of one expression may cost, in
	// CEL's units. Default: DefaultExpressionCost.
	ExpressionCost uint64
	// ReconcileCost is the most that all expressions of one evaluation of a rule
	// may cost together. Default: DefaultReconcileCost.
	ReconcileCost uint64
	// Deadline is how long the expressions of one call of Matches, Next or Outcome
	// may take together. One that would go on is stopped within 100 ms. Default:
	// DefaultDeadline.
	Deadline time.Duration
	// Children is the most objects that one parent may have from all nodes of the
	// rule, and the most items of one forEach. Default: DefaultChildren.
	Children int
	// ObjectBytes is the most that a rendered object, or status, may have as JSON,
	// with what the API server adds to it to say who owns its fields. Default:
	// DefaultObjectBytes.
	ObjectBytes int
	// ReconcileBytes is the most memory that the values may take that one evaluation of
	// a rule holds at the same time: variables, items, and what is rendered. Default:
	// DefaultReconcileBytes.
	ReconcileBytes int64
	// ListLength is the longest list, or map, that forEach may go over, and the
	// longest list that an expression may put into an object. Default:
	// DefaultListLength.
	ListLength int
}

const (
	// DefaultExpressionCost is enough to go some hundred thousand times round a
	// loop, which takes some tens of milliseconds.
	DefaultExpressionCost = run.DefaultCostLimit
	// DefaultReconcileCost is ten of the most costly expressions.
	DefaultReconcileCost = 10 * DefaultExpressionCost
	// DefaultDeadline is some times what DefaultReconcileCost takes on a slow
	// machine: it is there for what the cost does not see.
	DefaultDeadline = 2 * time.Second
	// DefaultChildren is ten times as many as the largest parent that Kanon is
	// measured with.
	DefaultChildren = 10_000
	// DefaultObjectBytes is what etcd takes in one request (--max-request-bytes).
	DefaultObjectBytes = 1536 << 10
	// DefaultReconcileBytes is some forty of the largest objects that etcd takes.
	DefaultReconcileBytes = 64 << 20
	// DefaultListLength is as long as there may be children.
	DefaultListLength = DefaultChildren
)

// WithDefaults fills in what is zero.
func (l Limits) WithDefaults() Limits {
	return Limits{
		ExpressionCost: cmp.Or(l.ExpressionCost, DefaultExpressionCost),
		ReconcileCost:  cmp.Or(l.ReconcileCost, DefaultReconcileCost),
		Deadline:       cmp.Or(l.Deadline, DefaultDeadline),
		Children:       cmp.Or(l.Children, DefaultChildren),
		ObjectBytes:    cmp.Or(l.ObjectBytes, DefaultObjectBytes),
		ReconcileBytes: cmp.Or(l.ReconcileBytes, DefaultReconcileBytes),
		ListLength:     cmp.Or(l.ListLength, DefaultListLength),
	}
}
