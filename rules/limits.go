package rules

import (
	"errors"
	"strconv"
	"time"

	"github.com/google/cel-go/common/types/ref"

	"kanon.dev/kanon/rules/celenv/run"
	"kanon.dev/kanon/rules/celenv/value"
	"kanon.dev/kanon/rules/diagnostic"
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

// withDefaults fills in what is zero.
func (l Limits) withDefaults() *Limits {
	if l.ExpressionCost == 0 {
		l.ExpressionCost = DefaultExpressionCost
	}
	if l.ReconcileCost == 0 {
		l.ReconcileCost = DefaultReconcileCost
	}
	if l.Deadline == 0 {
		l.Deadline = DefaultDeadline
	}
	if l.Children == 0 {
		l.Children = DefaultChildren
	}
	if l.ObjectBytes == 0 {
		l.ObjectBytes = DefaultObjectBytes
	}
	if l.ReconcileBytes == 0 {
		l.ReconcileBytes = DefaultReconcileBytes
	}
	if l.ListLength == 0 {
		l.ListLength = DefaultListLength
	}
	return &l
}

// exceeded is the problem of an expression that was ended because of a limit; nil
// for every other error.
func (l *Limits) exceeded(err error, text string) *problem {
	switch {
	case errors.Is(err, run.ErrCostLimit):
		return failure("%s: costs more than the %s allowed by --max-expression-cost", shorten(text), diagnostic.Number(l.ExpressionCost))
	case errors.Is(err, run.ErrBudget):
		return failure("%s: with what the other expressions cost, it is more than the %s allowed by --max-reconcile-cost",
			shorten(text), diagnostic.Number(l.ReconcileCost))
	case errors.Is(err, run.ErrDeadline):
		return failure("%s: was stopped, because the expressions took longer than the %s allowed by --max-evaluation-time",
			shorten(text), l.Deadline)
	case errors.Is(err, run.ErrMemory):
		return failure("%s: %s", shorten(text), l.tooMuch().message)
	case errors.Is(err, run.ErrSharedMemory):
		return failure("%s: %s", shorten(text), err.Error())
	}
	return nil
}

// list holds a list, or a map that is gone over, to the length that is allowed.
func (l *Limits) list(n int) *problem {
	if n <= l.ListLength {
		return nil
	}
	return failure("gives %s items, more than the %s allowed by --max-list-length", diagnostic.Number(n), diagnostic.Number(l.ListLength))
}

// rendered holds the list that an expression gives to the length that is allowed.
func (l *Limits) rendered(val ref.Val, text string) *problem {
	n, isList := value.Length(val)
	if !isList {
		return nil
	}
	p := l.list(n)
	if p != nil {
		p.message = shorten(text) + ": " + p.message
	}
	return p
}

func (l *Limits) tooMuch() *problem {
	return failure("with what the other values take, it needs more memory than the %s bytes allowed by --max-reconcile-bytes", diagnostic.Number(l.ReconcileBytes))
}

// overdue says whether the time is over. It is asked for each item of a forEach: what
// one takes may be little, and there may be many of them.
func (e *Evaluation) overdue() *problem {
	if !e.budget.Overdue() {
		return nil
	}
	e.late = true
	return failure("was stopped, because its items took longer than the %s allowed by --max-evaluation-time", e.prog.limits.Deadline)
}

func (l *Limits) tooLarge() *problem {
	return failure("is larger than the %s bytes allowed by --max-object-bytes", diagnostic.Number(l.ObjectBytes))
}

// object holds what was rendered to the size that is allowed.
func (l *Limits) object(val any) (size int, p *problem) {
	size = storedSize(val)
	if size > l.ObjectBytes {
		return size, failure("has %s bytes, with the records of its fields that the API server keeps, more than the %s allowed by --max-object-bytes",
			diagnostic.Number(size), diagnostic.Number(l.ObjectBytes))
	}
	return size, nil
}

// storedSize is how many bytes an object has as JSON when it is stored. The API
// server records for every field who owns it, as "f:name":{}, once for what created
// the object and once for what was applied since, so that each name counts three
// times. (An object of 1.33 MB had 1.67 MB after its first apply.)
func storedSize(val any) int {
	const record = len(`"f:":{},`)
	switch v := val.(type) {
	case map[string]any:
		size := len("{}")
		for name, field := range v {
			size += jsonTextSize(name) + len(":,") + 2*(record+len(name)) + storedSize(field)
		}
		return size
	case []any:
		size := len("[]")
		for _, item := range v {
			size += storedSize(item) + len(",")
		}
		return size
	case string:
		return jsonTextSize(v)
	case int64:
		var buf [20]byte
		return len(strconv.AppendInt(buf[:0], v, 10))
	case float64:
		var buf [24]byte
		return len(strconv.AppendFloat(buf[:0], v, 'g', -1, 64))
	case bool:
		return len("false")
	}
	return len("null")
}

// jsonTextSize is how long a text is in JSON.
func jsonTextSize(s string) int {
	size := len(s) + len(`""`)
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\' || c == '\n' || c == '\r' || c == '\t':
			size++
		case c < ' ':
			size += len(`\u0000`) - 1
		}
	}
	return size
}
