package rules

import (
	"errors"
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"kanon.dev/kanon/rules/celenv"
	"kanon.dev/kanon/rules/celenv/function"
	"kanon.dev/kanon/rules/celenv/run"
	"kanon.dev/kanon/rules/celenv/value"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/program/template"
	"kanon.dev/kanon/rules/syntax"
	"kanon.dev/kanon/rules/yamltree"
)

// An expression that reads nothing has the same value in every evaluation, so it is
// evaluated when the rule is compiled, and what is wrong with it is a finding.

// constantBytes is how large a value may be that is kept with the program, which lives
// long and counts in no budget. The checks need names and conditions.
const constantBytes = 4 << 10

// constant is what an expression gives that reads nothing.
type constant struct {
	// val is nil where it takes more than constantBytes.
	val ref.Val
	// isBool is true where the value is true or false, and kind says what it is.
	isBool bool
	kind   string
}

// newConstant is a value that takes bytes.
func newConstant(val ref.Val, bytes int64) *constant {
	out := &constant{isBool: val.Type() == types.BoolType, kind: value.TypeText(val)}
	if bytes <= constantBytes {
		out.val = val
	}
	return out
}

// isFree reports whether an expression reads nothing, and gives the same each time.
func isFree(e *celenv.Expression) bool {
	roots, functions := e.Names()
	return !slices.ContainsFunc(roots, func(n celenv.Name) bool { return !e.Env().IsType(n.Name) }) &&
		!slices.ContainsFunc(functions, func(n celenv.Name) bool { return n.Name == function.RandomName })
}

// evaluateConstant evaluates an expression that reads nothing, and notes what it gives. It
// says whether that is in order: an error is a finding.
func (c *compiler) evaluateConstant(expr *celenv.Expression, x *template.Expression, at func(int) diagnostic.Position) bool {
	if !isFree(expr) || run.LeastCost(expr) > c.limits.ExpressionCost { // that was reported
		return true
	}
	trial := template.NewTrial(*c.limits, c.constantCost)
	session := trial.Session()
	val, err := x.Program.EvalWithin(nil, trial, &session.Budget) //nolint:staticcheck // The deadline of the trial bounds it.
	c.constantCost = session.Budget.Cost
	switch {
	case err == nil:
		c.constants[x] = newConstant(val, session.Budget.Memory.Held())
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
	c.report(at(max(offset, 0)), diagnostic.CodeBadConstant, "%s: it reads nothing, so it fails each time", session.Reason(err))
	return false
}

// isConstant says whether a template gives the same each time.
func (c *compiler) isConstant(t template.Template) bool {
	switch t := t.(type) {
	case template.Const:
		return true
	case template.Expr:
		return c.constants[t.X] != nil
	case template.Text:
		return !slices.ContainsFunc(t.Parts, func(p template.Part) bool { return p.X != nil && c.constants[p.X] == nil })
	case template.Map:
		return !slices.ContainsFunc(t.Entries, func(e template.Entry) bool {
			return !c.isConstant(e.Value) || e.Key != nil && !c.isConstant(*e.Key)
		})
	case template.List:
		return !slices.ContainsFunc(t.Items, func(i template.Item) bool {
			return i.Spread != nil && c.constants[i.Spread] == nil || i.Spread == nil && !c.isConstant(i.Value)
		})
	}
	return false
}

// try evaluates a part of the rule that gives the same each time as an evaluation does,
// and reports what comes of it where it cannot be used. Nothing is tried where there
// was a finding.
func (c *compiler) try(n *yamltree.Node, t template.Template, place string, evaluate attempt) {
	if t == nil || n == nil || !c.isConstant(t) {
		return
	}
	if _, written := t.(template.Const); written && !strings.Contains(n.Raw(), "${") {
		return // the decoder has looked at it
	}
	trial := template.NewTrial(*c.limits, c.constantCost)
	p := evaluate(t, trial)
	c.constantCost = trial.Session().Budget.Cost
	if p == nil || trial.Session().Late || errors.Is(p, run.ErrAbsent) {
		return
	}
	offset := max(strings.Index(n.Raw(), "${"), 0)
	if text, _ := n.Text(); text == n.Raw() {
		if parts, err := syntax.Scan(text); err == nil && len(parts) > 0 && parts[0].Expr {
			offset = parts[0].Offset
		}
	}
	pos := c.rule.Source.Within(n, offset)
	if c.wrongAt[pos] || c.wrongAt[c.rule.Source.At(n)] {
		return
	}
	c.report(pos, diagnostic.CodeBadConstant, "%s: %s", place, p.Text())
}

// constantBool is what a condition is that reads nothing.
func constantBool(x *constant) (holds, ok bool) {
	if x == nil {
		return false, false
	}
	b, ok := x.val.(types.Bool)
	return bool(b), ok
}

// constantCalls reports calls whose arguments are written out and that fail each time:
// they may stand where they are seldom reached.
func (c *compiler) constantCalls(expr *celenv.Expression, at func(int) diagnostic.Position) bool {
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
			c.report(at(expr.Offset(call.Args()[0].ID())), diagnostic.CodeBadConstant, "%s", template.ErrorText(err))
			wrong = true
		}
	}
	return !wrong
}

// readsText says whether a function reads a text that must be of some form.
func readsText(function string) bool {
	switch function {
	case "quantity", "semver", "ip", "cidr", "url", "fromJson", "fromYaml", "int", "uint", "double", "bool":
		return true
	}
	return false
}

// checkConstantNames reports names that expressions give each time and that Kubernetes
// does not take. Those that are written out were looked at before.
func (c *compiler) checkConstantNames(metadata *yamltree.Node, kind schema.GroupKind) {
	check := func(n *yamltree.Node, at string, code diagnostic.Code, what string, wrong func(string) []string) {
		r, ok := c.results[n]
		if n == nil || !ok || r.x == nil || c.constants[r.x.run] == nil {
			return
		}
		text, isText := c.constants[r.x.run].val.(types.String)
		if isText && len(wrong(string(text))) > 0 {
			c.reportSpan(n, r.part.Offset, len(r.part.Text), code, "%s: %q is not %s that Kubernetes accepts", at, string(text), what)
		}
	}
	check(metadata.Get("name"), "metadata.name", diagnostic.CodeObjectName, "a name", syntax.NameRule(kind))
	check(metadata.Get("namespace"), "metadata.namespace", diagnostic.CodeObjectName, "a namespace", validation.IsDNS1123Label)
	for _, f := range fieldsOf(metadata.Get("labels")) {
		check(f.Value, "metadata.labels."+f.Name, diagnostic.CodeLabel, "the value of a label", validation.IsValidLabelValue)
	}
}

// checkCost reports an expression that costs more than it may whenever it is
// evaluated.
func (c *compiler) checkCost(x *celenv.Expression, pos diagnostic.Position) {
	if least := run.LeastCost(x); least > c.limits.ExpressionCost {
		f := c.report(pos, diagnostic.CodeTooCostly, "this costs at least %s each time, and %s are allowed by --max-expression-cost",
			diagnostic.Number(least), diagnostic.Number(c.limits.ExpressionCost))
		f.Length = c.spanOfAll(pos)
		f.WithHint("go over shorter lists, or compute a part of it once, in a variable")
	}
}
