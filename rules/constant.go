package rules

import (
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"k8s.io/apimachinery/pkg/util/sets"

	"kanon.dev/kanon/rules/celenv"
	"kanon.dev/kanon/rules/check"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/flow"
	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/rules/yamltree"
)

// An expression that reads nothing, or only variables that are constant, has the same value in every evaluation. So it is
// evaluated when the rule is compiled, and an error is a finding.

// constantBytes bounds a value that is kept with the program, which lives long and counts in no budget. The checks only
// need names and conditions.
const constantBytes = 4 << 10

type constantValue struct {
	// val is nil if it takes more than constantBytes.
	val ref.Val
	// IsBool is true for true and false. Kind describes the value.
	IsBool bool
	Kind   string
	// reads are the variables that the expression reads.
	reads []string
}

func newConstant(val ref.Val, bytes int64, reads []string) *constantValue {
	out := &constantValue{IsBool: val.Type() == types.BoolType, Kind: celenv.TypeText(val), reads: reads}
	if bytes <= constantBytes {
		out.val = val
	}
	return out
}

// evaluator evaluates expressions that read nothing, and remembers their values. It is not safe for concurrent use.
type evaluator struct {
	*check.Reporter
	source *yamltree.Source
	limits *program.Limits
	values map[*program.Expression]*constantValue
	// cost is the remaining budget.
	cost uint64
}

// newEvaluator returns an evaluator for a rule in a source. The total cost of its evaluations is bounded, so that compiling
// stays fast.
func newEvaluator(source *yamltree.Source, limits *program.Limits, reporter *check.Reporter) *evaluator {
	return &evaluator{Reporter: reporter, source: source, limits: limits, values: map[*program.Expression]*constantValue{}, cost: 2 * limits.ExpressionCost}
}

// Of is the constant value of an expression; nil if it has none, or if it is not known.
func (e *evaluator) Of(x *program.Expression) *constantValue { return e.values[x] }

// attempt renders a part of a rule as an evaluation does, and returns what is wrong with it.
type attempt func(t program.Template, s program.Scope) *program.Problem

func attemptOf[T any](render func(t program.Template, s program.Scope) (T, *program.Problem)) attempt {
	return func(t program.Template, s program.Scope) *program.Problem {
		_, p := render(t, s)
		return p
	}
}

// Evaluate evaluates an expression that reads nothing but constant variables, and remembers the value. It is false if that
// failed, which is a finding.
func (e *evaluator) Evaluate(expr *celenv.Expression, x *program.Expression, vars constantVariables, at func(int) diagnostic.Position) bool {
	reads, free := readsOf(expr, vars)
	if !free {
		return true
	}
	trial := e.trial(vars)
	session := trial.Session()
	val, err := x.Program.EvalWithin(nil, trial, &session.Budget) //nolint:staticcheck // The deadline of the trial bounds it.
	e.cost = session.Budget.Cost
	switch {
	case err == nil:
		e.values[x] = newConstant(val, session.Budget.Memory.Retained(), reads)
		return true
	case errors.Is(err, celenv.ErrBudget), errors.Is(err, celenv.ErrDeadline):
		return true // that is not the fault of this expression alone
	case errors.Is(err, celenv.ErrMemory):
		return true // the limits are those of who runs the rule; an evaluation says so
	case errors.Is(err, celenv.ErrCostLimit):
		f := e.Report(at(0), diagnostic.CodeTooCostly, "this costs more than the %s allowed by --max-expression-cost", diagnostic.Number(e.limits.ExpressionCost))
		f.Length = e.SpanOfAll(f.Position)
		f.WithHint("go over shorter lists, or compute a part of it once, in a variable")
		return false
	}
	offset := 0
	var celErr *types.Err
	var read *celenv.ReadError
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

func (e *evaluator) trial(vars constantVariables) *program.Trial {
	limits := *e.limits
	limits.Deadline = max(limits.Deadline, 30*time.Second) // the cost is the bound: findings do not depend on how busy a machine is
	trial := program.NewTrial(limits, e.cost)
	trial.Variables = constantMembers(vars)
	return trial
}

// Is reports whether a template always gives the same value.
func (e *evaluator) Is(t program.Template) bool {
	for x := range program.Expressions(t) {
		if e.values[x] == nil {
			return false
		}
	}
	return true
}

// Try evaluates a part of the rule that always gives the same value, as an evaluation does, and reports a value that
// cannot be used. It does nothing if there was a finding.
func (e *evaluator) Try(n *yamltree.Node, t program.Template, vars constantVariables, place string, evaluate attempt) {
	if t == nil || n == nil || !e.Is(t) {
		return
	}
	if _, written := t.(program.Const); written && !strings.Contains(n.Raw(), "${") {
		return // the decoder has looked at it
	}
	trial := e.trial(vars)
	p := evaluate(t, trial)
	e.cost = trial.Session().Budget.Cost
	if p == nil || trial.Session().Late || errors.Is(p, celenv.ErrAbsent) {
		return
	}
	offset, length := max(strings.Index(n.Raw(), "${"), 0), 0
	if text, _ := n.Text(); text == n.Raw() {
		if parts, err := yamltree.Scan(text); err == nil && len(parts) > 0 && parts[0].Expr {
			offset, length = parts[0].Offset, len(parts[0].Text)
		}
	}
	pos := e.source.Within(n, offset)
	if e.IsWrong(pos) || e.IsWrong(e.source.At(n)) {
		return
	}
	vars.relate(e.ReportSpan(n, offset, length, diagnostic.CodeBadConstant, "%s: %s", place, p.Text()), e.reads(t))
}

// Bool is the value if it is true or false. A nil value is not.
func (v *constantValue) Bool() (holds, ok bool) {
	if v == nil {
		return false, false
	}
	b, ok := v.val.(types.Bool)
	return bool(b), ok
}

// Reads reports whether the expression reads variables. That of a nil value does not.
func (v *constantValue) Reads() bool { return v != nil && len(v.reads) > 0 }

// Text is the value if it is text. A nil value is not.
func (v *constantValue) Text() (string, bool) {
	if v == nil {
		return "", false
	}
	text, ok := v.val.(types.String)
	return string(text), ok
}

// CheckCalls reports calls with literal arguments that always fail, because a branch with such a call may seldom be
// reached.
func (e *evaluator) CheckCalls(expr *celenv.Expression, at func(int) diagnostic.Position) bool {
	wrong := false
	for _, n := range expr.Nodes() {
		if n.Kind() != ast.CallKind {
			continue
		}
		first, err := literalError(expr, n)
		if err != nil {
			e.Report(at(expr.Offset(first.ID())), diagnostic.CodeBadConstant, "%s", program.ErrorText(err))
			wrong = true
		}
	}
	return !wrong
}

// literalError returns the error of a call that parses literal text, and the text.
func literalError(x *celenv.Expression, e ast.Expr) (text ast.Expr, err error) {
	call := e.AsCall()
	args := call.Args()
	switch call.FunctionName() {
	case "quantity", "semver", "ip", "cidr", "url", "fromJson", "fromYaml", "int", "uint", "double", "bool", "timestamp", "duration", "cron":
		if !slices.ContainsFunc(args, func(a ast.Expr) bool { return a.Kind() != ast.LiteralKind }) {
			_, err = celenv.EvalPart(x, e)
		}
	case "matches", "find", "findAll":
		if pattern, ok := flow.LiteralText(args[0]); ok {
			_, err = regexp.Compile(pattern)
		}
	}
	if err == nil {
		return nil, nil
	}
	wrong := slices.IndexFunc(args, func(a ast.Expr) bool {
		text, ok := flow.LiteralText(a)
		return ok && strings.Contains(err.Error(), strconv.Quote(text))
	})
	return args[max(wrong, 0)], err
}

// constantVariable is a variable that has the same value in every evaluation.
type constantVariable struct {
	// Position is that of its value.
	Position diagnostic.Position

	// value is JSON, or the CEL value of a whole expression.
	value any
}

// constantVariables finds the variables of a scope that are constant; nil for every other name.
type constantVariables func(name string) *constantVariable

func (v constantVariables) relate(f *diagnostic.Finding, names []string) {
	for _, name := range names {
		if variable := v(name); variable != nil {
			f.WithRelated(variable.Position, "%s.%s is this", flow.RootVariables, name)
		}
	}
}

// constantMembers are Variables as an evaluation reads them.
type constantMembers constantVariables

func (m constantMembers) Member(name string) (any, bool, error) {
	if variable := m(name); variable != nil {
		return variable.value, true, nil
	}
	return nil, false, nil
}

// Variable is the value of a variable at a node, whose template reads the variables of its own scope; nil if it is not
// constant, or large. One that cannot be rendered is a finding.
func (e *evaluator) Variable(n *yamltree.Node, t program.Template, vars constantVariables, place string) *constantVariable {
	if t == nil || !e.Is(t) {
		return nil
	}
	out := &constantVariable{Position: e.source.At(n)}
	switch t := t.(type) {
	case program.Const:
		out.value = t.Value
	case program.Expr:
		out.value = e.values[t.X].val
	default:
		e.Try(n, t, vars, place, func(t program.Template, s program.Scope) *program.Problem {
			value, ok, p := s.Session().RenderAside(t, s)
			if ok && p == nil && s.Session().Budget.Memory.Used() <= constantBytes {
				out.value = value
			}
			return p
		})
	}
	if out.value == nil {
		return nil
	}
	return out
}

// readsOf lists the variables that an expression reads. free is true if it reads nothing else, these are constant, and it
// always gives the same value.
func readsOf(x *celenv.Expression, vars constantVariables) (reads []string, free bool) {
	roots, functions := x.Names()
	isRandom := func(n celenv.Name) bool { return n.Name == celenv.RandomName }
	isVariables := func(n celenv.Name) bool { return n.Name == flow.RootVariables }
	isOther := func(n celenv.Name) bool { return !isVariables(n) && !x.Env().IsType(n.Name) }
	if slices.ContainsFunc(functions, isRandom) || slices.ContainsFunc(roots, isOther) {
		return nil, false
	}
	if !slices.ContainsFunc(roots, isVariables) {
		return nil, true
	}
	idents, found := 0, sets.New[string]()
	for _, n := range x.Nodes() {
		if n.Kind() == ast.IdentKind && n.AsIdent() == flow.RootVariables {
			idents++
		}
		if n.Kind() != ast.SelectKind {
			continue
		}
		if name := flow.WholeVariable(n); name != "" {
			if vars(name) == nil {
				return nil, false
			}
			found.Insert(name)
			idents--
		}
	}
	return sets.List(found), idents == 0 // otherwise a variable is read by a computed name, or only if it is there
}

func (e *evaluator) reads(t program.Template) []string {
	found := sets.New[string]()
	for x := range program.Expressions(t) {
		found.Insert(e.values[x].reads...)
	}
	return sets.List(found)
}
