package constant

import (
	"errors"
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"kanon.dev/kanon/rules/celenv"
	"kanon.dev/kanon/rules/celenv/run"
	"kanon.dev/kanon/rules/celenv/value"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/program/template"
	"kanon.dev/kanon/rules/reporting"
	"kanon.dev/kanon/rules/scanner"
	"kanon.dev/kanon/rules/yamltree"
)

// An expression that reads nothing, or only variables that are constant, has the same value in every evaluation. So it is
// evaluated when the rule is compiled, and an error is a finding.

// constantBytes bounds a value that is kept with the program, which lives long and counts in no budget. The checks only
// need names and conditions.
const constantBytes = 4 << 10

// Value is the constant value of an expression.
type Value struct {
	// val is nil if it takes more than constantBytes.
	val ref.Val
	// IsBool is true for true and false. Kind describes the value.
	IsBool bool
	Kind   string
	// reads are the variables that the expression reads.
	reads []string
}

// newValue is a value of so many bytes.
func newValue(val ref.Val, bytes int64, reads []string) *Value {
	out := &Value{IsBool: val.Type() == types.BoolType, Kind: value.TypeText(val), reads: reads}
	if bytes <= constantBytes {
		out.val = val
	}
	return out
}

// Evaluator evaluates expressions that read nothing, and remembers their values. It is not safe for concurrent use.
type Evaluator struct {
	*reporting.Reporter
	source *yamltree.Source
	limits *template.Limits
	values map[*template.Expression]*Value
	// cost is the remaining budget.
	cost uint64
}

// New returns an evaluator for a rule in a source. The total cost of its evaluations is bounded, so that compiling
// stays fast.
func New(source *yamltree.Source, limits *template.Limits, reporter *reporting.Reporter) *Evaluator {
	return &Evaluator{Reporter: reporter, source: source, limits: limits, values: map[*template.Expression]*Value{}, cost: 2 * limits.ExpressionCost}
}

// Of is the constant value of an expression; nil if it has none, or if it is not known.
func (e *Evaluator) Of(x *template.Expression) *Value { return e.values[x] }

// Attempt renders a part of a rule as an evaluation does, and returns what is wrong with it.
type Attempt func(t template.Template, s template.Scope) *template.Problem

// AttemptOf makes an Attempt of a render function.
func AttemptOf[T any](render func(t template.Template, s template.Scope) (T, *template.Problem)) Attempt {
	return func(t template.Template, s template.Scope) *template.Problem {
		_, p := render(t, s)
		return p
	}
}

// Evaluate evaluates an expression that reads nothing but constant variables, and remembers the value. It is false if that
// failed, which is a finding.
func (e *Evaluator) Evaluate(expr *celenv.Expression, x *template.Expression, vars Variables, at func(int) diagnostic.Position) bool {
	reads, free := readsOf(expr, vars)
	if !free || run.LeastCost(expr) > e.limits.ExpressionCost { // that was reported
		return true
	}
	trial := e.trial(vars)
	session := trial.Session()
	val, err := x.Program.EvalWithin(nil, trial, &session.Budget) //nolint:staticcheck // The deadline of the trial bounds it.
	e.cost = session.Budget.Cost
	switch {
	case err == nil:
		e.values[x] = newValue(val, session.Budget.Memory.Retained(), reads)
		return true
	case errors.Is(err, run.ErrBudget), errors.Is(err, run.ErrDeadline):
		return true // that is not the fault of this expression alone
	case errors.Is(err, run.ErrCostLimit), errors.Is(err, run.ErrMemory):
		return true // the limits are those of who runs the rule; an evaluation says so
	}
	offset := 0
	var celErr *types.Err
	var read *value.ReadError
	switch {
	case errors.As(err, &read):
		offset = expr.Offset(read.NodeID)
	case errors.As(err, &celErr):
		offset = expr.Offset(celErr.NodeID())
	}
	why := "it reads nothing"
	if len(reads) > 0 {
		why = "all that it reads is constant"
	}
	vars.relate(e.Report(at(max(offset, 0)), diagnostic.CodeBadConstant, "%s: %s, so it fails each time", session.Reason(err), why), reads)
	return false
}

// trial begins an evaluation that can read the constant variables.
func (e *Evaluator) trial(vars Variables) *template.Trial {
	trial := template.NewTrial(*e.limits, e.cost)
	trial.Variables = members(vars)
	return trial
}

// Is reports whether a template always gives the same value.
func (e *Evaluator) Is(t template.Template) bool {
	for x := range template.Expressions(t) {
		if e.values[x] == nil {
			return false
		}
	}
	return true
}

// Try evaluates a part of the rule that always gives the same value, as an evaluation does, and reports a value that
// cannot be used. It does nothing if there was a finding.
func (e *Evaluator) Try(n *yamltree.Node, t template.Template, vars Variables, place string, evaluate Attempt) {
	if t == nil || n == nil || !e.Is(t) {
		return
	}
	if _, written := t.(template.Const); written && !strings.Contains(n.Raw(), "${") {
		return // the decoder has looked at it
	}
	trial := e.trial(vars)
	p := evaluate(t, trial)
	e.cost = trial.Session().Budget.Cost
	if p == nil || trial.Session().Late || errors.Is(p, run.ErrAbsent) {
		return
	}
	offset := max(strings.Index(n.Raw(), "${"), 0)
	if text, _ := n.Text(); text == n.Raw() {
		if parts, err := scanner.Scan(text); err == nil && len(parts) > 0 && parts[0].Expr {
			offset = parts[0].Offset
		}
	}
	pos := e.source.Within(n, offset)
	if e.IsWrong(pos) || e.IsWrong(e.source.At(n)) {
		return
	}
	vars.relate(e.Report(pos, diagnostic.CodeBadConstant, "%s: %s", place, p.Text()), e.reads(t))
}

// Bool is the value if it is true or false. A nil value is not.
func (v *Value) Bool() (holds, ok bool) {
	if v == nil {
		return false, false
	}
	b, ok := v.val.(types.Bool)
	return bool(b), ok
}

// Reads reports whether the expression reads variables. That of a nil value does not.
func (v *Value) Reads() bool { return v != nil && len(v.reads) > 0 }

// Text is the value if it is text. A nil value is not.
func (v *Value) Text() (string, bool) {
	if v == nil {
		return "", false
	}
	text, ok := v.val.(types.String)
	return string(text), ok
}

// CheckCalls reports calls with literal arguments that always fail, because a branch with such a call may seldom be
// reached.
func (e *Evaluator) CheckCalls(expr *celenv.Expression, at func(int) diagnostic.Position) bool {
	wrong := false
	for _, n := range expr.Nodes() {
		if n.Kind() != ast.CallKind || !readsText(n.AsCall().FunctionName()) {
			continue
		}
		call := n.AsCall()
		if call.IsMemberFunction() || slices.ContainsFunc(call.Args(), func(a ast.Expr) bool { return a.Kind() != ast.LiteralKind }) {
			continue
		}
		if _, err := run.Value(expr, n); err != nil {
			e.Report(at(expr.Offset(call.Args()[0].ID())), diagnostic.CodeBadConstant, "%s", template.ErrorText(err))
			wrong = true
		}
	}
	return !wrong
}

// readsText reports whether a function parses a text that must have a certain form.
func readsText(function string) bool {
	switch function {
	case "quantity", "semver", "ip", "cidr", "url", "fromJson", "fromYaml", "int", "uint", "double", "bool":
		return true
	}
	return false
}

// CheckCost reports an expression that exceeds the cost limit in every evaluation.
func (e *Evaluator) CheckCost(x *celenv.Expression, pos diagnostic.Position) {
	if least := run.LeastCost(x); least > e.limits.ExpressionCost {
		f := e.Report(pos, diagnostic.CodeTooCostly, "this costs at least %s each time, and %s are allowed by --max-expression-cost",
			diagnostic.Number(least), diagnostic.Number(e.limits.ExpressionCost))
		f.Length = e.SpanOfAll(pos)
		f.WithHint("go over shorter lists, or compute a part of it once, in a variable")
	}
}
