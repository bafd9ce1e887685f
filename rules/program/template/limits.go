package template

import (
	"cmp"
	"time"

	"kanon.dev/kanon/rules/celenv/run"
)

// Limits bound one evaluation of a rule and its results. A field that is zero has its default. What exceeds a limit
// fails, with a message that names the option of the command line.
type Limits struct {
	// ExpressionCost is the limit for one evaluation of one expression, in CEL's cost units. Default:
	// DefaultExpressionCost.
	ExpressionCost uint64
	// ReconcileCost is the limit for all expressions of one evaluation of a rule together. Default:
	// DefaultReconcileCost.
	ReconcileCost uint64
	// Deadline is the time for the expressions of one call of Matches, Next or Result. An expression that exceeds it
	// is stopped within 100 ms. Default: DefaultDeadline.
	Deadline time.Duration
	// Children is the limit for the objects of one parent from all nodes of the rule, and for the items of one forEach.
	// Default: DefaultChildren.
	Children int
	// ObjectBytes is the limit for a rendered object, or status, as JSON, including the field ownership that the API
	// server adds. Default: DefaultObjectBytes.
	ObjectBytes int
	// ReconcileBytes is the limit for the memory that one evaluation holds at the same time: variables, items, and what
	// is rendered. Default: DefaultReconcileBytes.
	ReconcileBytes int64
	// ListLength is the limit for the lists and maps of a forEach, and for a list that an expression puts into an
	// object. Default: DefaultListLength.
	ListLength int
}

const (
	// DefaultExpressionCost is enough for some hundred thousand iterations, which take some tens of milliseconds.
	DefaultExpressionCost = run.DefaultCostLimit
	// DefaultReconcileCost is ten of the most costly expressions.
	DefaultReconcileCost = 10 * DefaultExpressionCost
	// DefaultDeadline is several times the duration of DefaultReconcileCost on a slow machine. It bounds what the cost
	// does not count.
	DefaultDeadline = 2 * time.Second
	// DefaultChildren is ten times the largest parent in the benchmarks.
	DefaultChildren = 10_000
	// DefaultObjectBytes is etcd's limit for one request (--max-request-bytes).
	DefaultObjectBytes = 1536 << 10
	// DefaultReconcileBytes is about forty of the largest objects that etcd accepts.
	DefaultReconcileBytes = 64 << 20
	// DefaultListLength is the default limit of children.
	DefaultListLength = DefaultChildren
)

// WithDefaults returns the limits with the defaults in fields that are zero.
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
