package celenv

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/decls"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/interpreter"

	"kanon.dev/kanon/rules/celenv/function"
	"kanon.dev/kanon/rules/celenv/value"
)

// NowName is the name of the time of the evaluation in expressions.
const NowName = "now"

// Env checks and plans expressions. It is immutable and safe for concurrent
// use.
type Env struct {
	// base parses; its declarations went into checker and machine.
	base *cel.Env
	// checker holds the functions and no variables.
	checker *checker.Env
	// dispatcher finds the functions at run time.
	dispatcher interpreter.Dispatcher
	// functions has what each function costs and makes.
	table *function.Table
	// overloads are the ways to call each function.
	overloads map[string][]*decls.OverloadDecl
}

// Scope are the names that an expression may start with. now is a timestamp;
// the types of all others are not known when it is compiled.
type Scope []string

// Issue is something wrong in an expression.
type Issue struct {
	// Offset is where it is wrong, in bytes from the start of the expression;
	// -1 where that is not known.
	Offset int
	// Message says what is wrong, in CEL's words.
	Message string
}

//nolint:gochecknoglobals // Built once, at first use, and never changed: building takes tens of milliseconds and some megabytes, far more than all the rules of a program need together.
var shared = sync.OnceValues(newEnv)

// Shared returns the environment that all rules of the process share. The
// error is the same at every call; it means that the libraries contradict each
// other, which no input can cause.
func Shared() (*Env, error) { return shared() }

func newEnv() (*Env, error) {
	base, err := cel.NewEnv(options()...)
	if err != nil {
		return nil, fmt.Errorf("build the CEL environment: %w", err)
	}
	check, err := checker.NewEnv(base.Container, base.CELTypeProvider(), checker.CrossTypeNumericComparisons(true))
	if err != nil {
		return nil, fmt.Errorf("build the CEL checker: %w", err)
	}
	overloads := map[string][]*decls.OverloadDecl{}
	for name, fn := range base.Functions() {
		if fn.IsDeclarationDisabled() {
			continue
		}
		overloads[name] = fn.OverloadDecls()
		if err := check.AddFunctions(fn); err != nil {
			return nil, fmt.Errorf("declare the CEL function %s: %w", name, err)
		}
	}
	functions := function.NewTable()
	dispatcher, err := functions.Dispatcher(base)
	if err != nil {
		return nil, err
	}
	// cel-go has one value for "no such overload" and one for the overflow of a
	// timestamp, and writes the node's id into them at their first use. Done here,
	// once, that is no race between evaluations.
	types.LabelErrNode(sharedErrorID, types.NoSuchOverloadErr())
	types.LabelErrNode(sharedErrorID, types.Int(math.MaxInt64).ConvertToType(types.TimestampType))
	return &Env{
		table:      functions,
		overloads:  overloads,
		base:       base,
		checker:    check,
		dispatcher: dispatcher,
	}, nil
}

// Functions has what each function costs and makes.
func (e *Env) Functions() *function.Table { return e.table }

// Attributes makes CEL's own attributes: names with the fields and indices read from them.
func (e *Env) Attributes() interpreter.AttributeFactory {
	return interpreter.NewAttributeFactory(e.base.Container, value.Adapter{}, e.base.CELTypeProvider())
}

// sharedErrorID marks errors that carry no node of their own.
const sharedErrorID = -1

// Parsed is an expression whose names and types have not been checked.
type Parsed struct {
	env  *Env
	text string
	ast  *cel.Ast
}

// Parse parses an expression. The issues are all that was found; the result is
// nil when there are any.
func (e *Env) Parse(text string) (*Parsed, []Issue) {
	parsed, iss := e.base.Parse(text)
	if iss.Err() != nil {
		return nil, issues(text, iss.Errors())
	}
	return &Parsed{env: e, text: text, ast: parsed}, nil
}

// Names are those of the expression, as far as it was checked: see [Expression.Names].
func (p *Parsed) Names() (roots, functions []Name) { return namesOf(p.env, p.text, p.ast.NativeRep()) }

// Checker checks expressions that start with the names of one scope. Making one
// costs as much as a few expressions do. It is immutable and safe for concurrent
// use.
type Checker struct {
	env   *Env
	check *checker.Env
	err   error
}

// Checker makes one for a scope.
func (e *Env) Checker(scope Scope) *Checker {
	check, err := checker.NewEnv(e.base.Container, e.base.CELTypeProvider(),
		checker.ValidatedDeclarations(e.checker), checker.CrossTypeNumericComparisons(true))
	if err != nil {
		return &Checker{err: err}
	}
	for _, name := range scope {
		typ := types.DynType
		if name == NowName {
			typ = types.TimestampType
		}
		if err := check.AddIdents(decls.NewVariable(name, typ)); err != nil {
			return &Checker{err: err}
		}
	}
	return &Checker{env: e, check: check}
}

// Check checks names and types. The issues are all that was found; the
// expression is nil when there are any.
func (c *Checker) Check(p *Parsed) (*Expression, []Issue) {
	if c.err != nil {
		return nil, []Issue{{Offset: -1, Message: c.err.Error()}}
	}
	checked, errs := checker.Check(p.ast.NativeRep(), p.ast.Source(), c.check)
	if found := errs.GetErrors(); len(found) > 0 {
		return nil, issues(p.text, found)
	}
	return &Expression{env: c.env, text: p.text, ast: checked}, nil
}

// Compile parses and checks an expression.
func (e *Env) Compile(text string, scope Scope) (*Expression, []Issue) {
	parsed, found := e.Parse(text)
	if parsed == nil {
		return nil, found
	}
	return e.Checker(scope).Check(parsed)
}

// IsFunction reports whether there is a function or a macro of that name.
func (e *Env) IsFunction(name string) bool {
	return e.base.HasFunction(name) || slices.ContainsFunc(e.base.Macros(), func(m cel.Macro) bool { return m.Function() == name })
}

// FunctionNames lists the functions and macros that an author can call, sorted.
func (e *Env) FunctionNames() []string {
	seen := map[string]bool{}
	for name := range e.base.Functions() {
		seen[name] = true
	}
	for _, m := range e.base.Macros() {
		seen[m.Function()] = true
	}
	for name := range seen {
		if strings.ContainsAny(name, "_@!") || name == "in" {
			delete(seen, name) // operators, and what macros turn into
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// issues turns cel-go's errors into offsets.
func issues(text string, errs []*common.Error) []Issue {
	found := make([]Issue, 0, len(errs))
	for _, e := range errs {
		found = append(found, Issue{Offset: offset(text, e.Location), Message: e.Message})
	}
	return found
}

// planIssues turns the error of a planner into an issue.
func planIssues(x *Expression, err error) []Issue {
	at := -1
	if celErr, ok := errors.AsType[*types.Err](err); ok {
		at = x.Offset(celErr.NodeID())
	}
	return []Issue{{Offset: at, Message: err.Error()}}
}

// offset is the byte at which a location lies: its line counts from 1 and its
// column, in code points, from 0.
func offset(text string, loc common.Location) int {
	if loc == nil || loc.Line() < 1 {
		return -1
	}
	line, column := 1, 0
	for i, r := range text {
		if line == loc.Line() && column == loc.Column() {
			return i
		}
		if r == '\n' {
			if line == loc.Line() {
				return i
			}
			line, column = line+1, 0
			continue
		}
		column++
	}
	if line == loc.Line() {
		return len(text)
	}
	return -1
}

// ChangesAt reports whether it is known when the value of a call changes whose operands
// grow by so many seconds in a second each. The operands begin with the one that
// the function is called on.
func (e *Env) ChangesAt(function string, speeds []int) bool {
	return e.table.Own(function).ChangesAt(speeds)
}

// IsType reports whether a name is that of a type or of a constant of CEL's own.
func (e *Env) IsType(name string) bool {
	_, ok := e.base.CELTypeProvider().FindIdent(name)
	return ok
}

const (
	// maxExpression is the longest expression, in code points. The time that cel-go's
	// checker takes grows with the square of it.
	maxExpression = 16 << 10
	// maxNesting is how deep an expression may nest.
	maxNesting = 100
)

// options declares the language: what the parser accepts and which functions
// exist. Versions are pinned, so that an update of a module does not change
// what a rule means.
func options() []cel.EnvOption {
	return append([]cel.EnvOption{
		cel.CustomTypeAdapter(value.Adapter{}),
		cel.CrossTypeNumericComparisons(true),
		cel.DefaultUTCTimeZone(true),
		cel.EnableMacroCallTracking(),
		cel.EnableHiddenAccumulatorName(true),
		cel.EnableIdentifierEscapeSyntax(),
		cel.ParserExpressionSizeLimit(maxExpression),
		cel.ParserRecursionLimit(maxNesting),
	}, function.Libraries()...)
}
