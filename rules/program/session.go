package program

import (
	"cmp"
	"context"
	"errors"
	"math"
	"strconv"
	"time"

	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"

	"kanon.dev/kanon/rules/celenv"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/flow"
)

// NotShown replaces a value, or an error that may contain one, in messages of a rule that reads or writes Secrets.
// Messages become conditions, Events and log lines, which more people can read than Secrets.
const NotShown = "(not shown, because the rule reads or writes Secrets)"

// Session is shared by all expressions and templates of one evaluation: the remaining budget, and whether values may be
// shown. It is not safe for concurrent use.
type Session struct {
	// Budget is the remaining cost of expressions, and the memory of values.
	Budget celenv.Budget
	// Late is true once an expression was stopped at its deadline, and OutOfMemory once one was stopped because all
	// evaluations together need more memory than there is.
	Late, OutOfMemory bool
	// Exceeded is the option whose limit was last exceeded; empty if none was.
	Exceeded string

	// ctx bounds the time that expressions may take. An evaluation ends before the call that
	// made it does, so the context does not outlive its caller.
	ctx    context.Context //nolint:containedctx // See above.
	limits *Limits
	// secrets is true if no value may be shown.
	secrets bool
	// room is how many more values the object that is being rendered may have. drafted is how many bytes are counted
	// for it.
	room    int
	drafted int64
}

// NewSession begins an evaluation with a full budget. shared is the memory of all evaluations, or nil. secrets is true
// if messages must not contain values.
func NewSession(ctx context.Context, limits *Limits, shared celenv.Account, secrets bool) Session {
	return Session{
		ctx: ctx, limits: limits, secrets: secrets,
		Budget: celenv.Budget{
			Cost: limits.ReconcileCost, Time: limits.Deadline,
			Memory: celenv.Memory{Limit: limits.ReconcileBytes, Shared: shared},
		},
	}
}

// Cost is the cost of all expressions so far, in CEL's units. exceeded is the option whose limit was last exceeded.
func (s *Session) Cost() (cost uint64, exceeded string) {
	return s.limits.ReconcileCost - s.Budget.Cost, s.Exceeded
}

// over is the problem of an exceeded limit. The message ends with the name of the option.
func (s *Session) over(option, format string, args ...any) *Problem {
	s.Exceeded = option
	return Failure(format+" allowed by --"+option, args...)
}

// Begin starts the deadline of a call, and gives its first object room.
func (s *Session) Begin() {
	s.Budget.Restart()
	s.MakeRoom()
}

// Renew gives a finished session a full budget again.
func (s *Session) Renew() { *s = NewSession(s.ctx, s.limits, nil, s.secrets) }

// MakeRoom begins another object. An object cannot have more values than bytes.
func (s *Session) MakeRoom() {
	s.room = s.limits.ObjectBytes
	s.Budget.Memory.Return(s.drafted)
	s.drafted = 0
}

// RenderAside renders what is no part of the object that is being rendered, such as the value of a variable.
func (s *Session) RenderAside(t Template, in Scope) (val any, ok bool, p *Problem) {
	room, drafted := s.room, s.drafted
	s.drafted = 0
	s.MakeRoom()
	val, ok, p = t.Render(in)
	s.room, s.drafted = room, drafted // what was drafted here stays
	return val, ok, p
}

// Hold counts bytes that the evaluation keeps until it ends.
func (s *Session) Hold(n int64) *Problem {
	return s.refusal(s.Budget.Memory.Take(n))
}

// draft counts bytes of what is being rendered. They are returned when the next rendering begins, because the finished
// object is counted as a whole.
func (s *Session) draft(n int64) *Problem {
	p := s.Hold(n)
	if p == nil {
		s.drafted += n
	}
	return p
}

// HoldObject checks the size of a rendered object, and counts it.
func (s *Session) HoldObject(val any) *Problem {
	size := storedSize(val)
	if size > s.limits.ObjectBytes {
		return s.over("max-object-bytes", "has %s bytes, with the records of its fields that the API server keeps, more than the %s",
			diagnostic.Number(size), diagnostic.Number(s.limits.ObjectBytes))
	}
	return s.Hold(int64(size))
}

// List checks the length of a list, or of a map in a forEach.
func (s *Session) List(n int) *Problem {
	if n <= s.limits.ListLength {
		return nil
	}
	return s.over("max-list-length", "gives %s items, more than the %s", diagnostic.Number(n), diagnostic.Number(s.limits.ListLength))
}

// Overdue is the problem of a forEach that takes too long; nil while there is time. It is checked for each item: one
// may take little time, but there may be many.
func (s *Session) Overdue() *Problem {
	if !s.Budget.Overdue() {
		return nil
	}
	s.Late = true
	return s.over("max-evaluation-time", "was stopped, because its items took longer than the %s", s.limits.Deadline)
}

// exceeded is the problem of an expression that was stopped by a limit; nil for every other error.
func (s *Session) exceeded(err error) *Problem {
	switch {
	case errors.Is(err, celenv.ErrCostLimit):
		return s.over("max-expression-cost", "costs more than the %s", diagnostic.Number(s.limits.ExpressionCost))
	case errors.Is(err, celenv.ErrBudget):
		return s.over("max-reconcile-cost", "with what the other expressions cost, it is more than the %s",
			diagnostic.Number(s.limits.ReconcileCost))
	case errors.Is(err, celenv.ErrDeadline):
		s.Late = true
		return s.over("max-evaluation-time", "was stopped, because the expressions took longer than the %s", s.limits.Deadline)
	case errors.Is(err, celenv.ErrMemory), errors.Is(err, celenv.ErrSharedMemory):
		return s.refusal(err)
	}
	return nil
}

func (s *Session) refusal(err error) *Problem {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, celenv.ErrSharedMemory):
		s.OutOfMemory = true
		return Failure("%s", err.Error())
	}
	return s.over("max-reconcile-bytes", "with what the other values take, it needs more memory than the %s bytes", diagnostic.Number(s.limits.ReconcileBytes))
}

func (s *Session) tooLarge() *Problem {
	return s.over("max-object-bytes", "is larger than the %s bytes", diagnostic.Number(s.limits.ObjectBytes))
}

// plain converts a value to plain JSON, as far as the object that is being rendered and the memory have room for it.
func (s *Session) plain(val ref.Val, into celenv.Place) (any, error) {
	most := min(s.room, s.Budget.Memory.Parts())
	// A value may contain another one many times, so its copy is counted before it is made.
	left := most
	switch enough := celenv.CountParts(val, &left); {
	case !enough && most < s.room:
		return nil, celenv.ErrMemory
	case !enough:
		return nil, celenv.ErrTooManyParts
	}
	bytes := int64(most-left) * celenv.PartBytes
	if most-left > 1 {
		if err := s.Budget.Memory.Take(bytes); err != nil {
			return nil, err //nolint:wrapcheck // The caller names the expression.
		}
		s.drafted += bytes
	}
	s.room -= most - left
	plain, err := celenv.ToJSONWithin(val, into, &most)
	return plain, err //nolint:wrapcheck // As above.
}

// Shown quotes a value for a message.
func (s *Session) Shown(text string) string {
	if s.secrets {
		return NotShown
	}
	return strconv.Quote(Shorten(text))
}

func (s *Session) describe(val any, ok bool) string {
	if text, isText := val.(string); isText {
		return s.Shown(text)
	}
	if !ok {
		return "missing"
	}
	return TypeOf(val)
}

// TypeOf names the type of a JSON value.
func TypeOf(val any) string { return celenv.TypeText(celenv.FromJSON(val)) }

// Reason is the text of an error for a message.
func (s *Session) Reason(err error) string {
	text := ErrorText(err)
	switch text {
	case "no such overload", "division by zero", "modulus by zero", "integer overflow", "unsigned integer overflow":
		return text // there is no value in these
	}
	if unfit, ok := errors.AsType[*celenv.UnfitError](err); ok && s.secrets {
		return "text " + NotShown + " is " + unfit.Found
	}
	if s.secrets {
		return "it fails; the reason is not shown, because the rule reads or writes Secrets"
	}
	return text
}

// misplaced is the text of an error about a value that cannot be written where it should be.
func (s *Session) misplaced(err error) string {
	for _, wrong := range []error{celenv.ErrTextForBytes, celenv.ErrBytesForText, celenv.ErrBytesInText} {
		if s.secrets && errors.Is(err, wrong) {
			return wrong.Error() // the keys on the way may be computed
		}
	}
	return s.Reason(err)
}

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
	DefaultExpressionCost = celenv.DefaultCostLimit
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

// storedSize is the size of an object as stored JSON. The API server records the owner of every field as "f:name":{},
// once for the manager that created the object and once for the one that applied it since, so each name counts three
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

// Trial is the scope in which the compiler evaluates expressions that read nothing but constant variables.
type Trial struct {
	// Variables are the constant ones; nil for none.
	Variables celenv.Members

	session Session
}

// NewTrial begins a trial with a limited cost. Lists are not limited: an evaluation reports what the limits refuse.
func NewTrial(limits Limits, cost uint64) *Trial {
	limits.ListLength = math.MaxInt
	t := &Trial{session: NewSession(nil, &limits, nil, false)} //nolint:staticcheck // Deadline bounds it.
	t.session.Budget.Cost = cost
	t.session.MakeRoom()
	return t
}

// Session implements Scope.
func (t *Trial) Session() *Session { return &t.session }

// ReadOnly implements Scope.
func (t *Trial) ReadOnly() bool { return false }

// Parent implements interpreter.Activation.
func (t *Trial) Parent() interpreter.Activation { return nil }

// ResolveName implements interpreter.Activation.
func (t *Trial) ResolveName(name string) (any, bool) {
	if name == flow.RootVariables && t.Variables != nil {
		return t.Variables, true
	}
	return nil, false
}
