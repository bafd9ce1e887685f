package celenv

import (
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

	"kanon.dev/kanon/rules/diagnostic"
)

// NowName is the name of the time of the evaluation in expressions.
const NowName = "now"

// Env checks and plans expressions. It is immutable and safe for concurrent use.
type Env struct {
	// base parses expressions. Its functions are declared in checker and bound in dispatcher.
	base *cel.Env
	// checker has the functions and no variables.
	checker *checker.Env
	// dispatcher finds the functions at run time.
	dispatcher interpreter.Dispatcher
	// own has Kanon's own functions, and declared the cost of each function and the size of its results.
	own      map[string]*Function
	declared map[string]Declaration
	// overloads has the overloads of each function.
	overloads map[string][]*decls.OverloadDecl
}

// Scope has the names that an expression may start with. The type of now is timestamp; the types of all other names are
// unknown to CEL.
type Scope []string

// Issue is a mistake in an expression.
type Issue struct {
	// Offset is the byte of the expression at which it is; -1 if that is not known.
	Offset int
	// Message is the message of cel-go.
	Message string
}

//nolint:gochecknoglobals // Built once, at first use, and never changed: building takes tens of milliseconds and some megabytes, far more than all the rules of a program need together.
var shared = sync.OnceValues(newEnv)

// Shared returns the environment that all rules of the process share. An error is the same at every call. It means that
// the libraries contradict each other, which no input can cause.
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
	own, declared := declarations()
	dispatcher, err := newDispatcher(base, declared)
	if err != nil {
		return nil, err
	}
	// cel-go has one shared value for "no such overload" and one for the overflow of a timestamp, and writes the node's
	// id into them at their first use. Doing that here avoids a race between evaluations.
	types.LabelErrNode(sharedErrorID, types.NoSuchOverloadErr())
	types.LabelErrNode(sharedErrorID, types.Int(math.MaxInt64).ConvertToType(types.TimestampType))
	return &Env{
		own:        own,
		declared:   declared,
		overloads:  overloads,
		base:       base,
		checker:    check,
		dispatcher: dispatcher,
	}, nil
}

// sharedErrorID is the node id of errors that have no node.
const sharedErrorID = -1

// Parse parses an expression, without its names and types. It returns nil and all issues if there are any.
func (e *Env) Parse(text string) (*Expression, []Issue) {
	parsed, iss := e.base.Parse(text)
	if iss.Err() != nil {
		return nil, issues(text, iss.Errors())
	}
	return &Expression{env: e, text: text, ast: parsed.NativeRep()}, nil
}

// Checker checks expressions that start with the names of one scope. To make one costs as much as to check a few
// expressions. It is immutable and safe for concurrent use.
type Checker struct {
	env   *Env
	check *checker.Env
	err   error
}

// Checker returns a checker for a scope.
func (e *Env) Checker(scope Scope) *Checker {
	check, err := checker.NewEnv(e.base.Container, e.base.CELTypeProvider(),
		checker.ValidatedDeclarations(e.checker), checker.CrossTypeNumericComparisons(true))
	if err != nil {
		return &Checker{env: e, err: err}
	}
	for _, name := range scope {
		typ := types.DynType
		if name == NowName {
			typ = types.TimestampType
		}
		if err := check.AddIdents(decls.NewVariable(name, typ)); err != nil {
			return &Checker{env: e, err: err}
		}
	}
	return &Checker{env: e, check: check}
}

// Check checks names and types. With Issues, the expression has the types that are known, and cannot be run.
func (c *Checker) Check(parsed *Expression) *Expression {
	out := *parsed
	if c.err != nil {
		out.issues = []Issue{{Offset: -1, Message: c.err.Error()}}
		return &out
	}
	checked, errs := checker.Check(parsed.ast, common.NewTextSource(parsed.text), c.check)
	out.ast, out.issues = checked, issues(parsed.text, errs.GetErrors())
	return &out
}

// Compile parses and checks an expression.
func (e *Env) Compile(text string, scope Scope) (*Expression, []Issue) {
	parsed, found := e.Parse(text)
	if parsed == nil {
		return nil, found
	}
	x := e.Checker(scope).Check(parsed)
	if len(x.issues) > 0 {
		return nil, x.issues
	}
	return x, nil
}

// IsFunction reports whether a function or a macro has that name.
func (e *Env) IsFunction(name string) bool {
	return e.base.HasFunction(name) || slices.ContainsFunc(e.base.Macros(), func(m cel.Macro) bool { return m.Function() == name })
}

// FunctionNames returns the functions and macros that an author can call, sorted.
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
			delete(seen, name) // operators, and functions that only macros call
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// issues converts cel-go's errors.
func issues(text string, errs []*common.Error) []Issue {
	found := make([]Issue, 0, len(errs))
	for _, e := range errs {
		found = append(found, Issue{Offset: offset(text, e.Location), Message: e.Message})
	}
	return found
}

// offset returns the byte of a location; -1 if the text does not have it.
func offset(text string, loc common.Location) int {
	n, ok := common.NewTextSource(text).LocationOffset(loc)
	if !ok {
		return -1
	}
	return diagnostic.ByteOf(text, int(n))
}

// IsType reports whether a name is a type or a constant of CEL itself.
func (e *Env) IsType(name string) bool {
	_, ok := e.base.CELTypeProvider().FindIdent(name)
	return ok
}

const (
	// maxExpression is the longest expression, in code points. The time of cel-go's checker grows with its square.
	maxExpression = 16 << 10
	// maxNesting is how deep an expression may nest.
	maxNesting = 100
)

// options declares the language: what the parser accepts and which functions exist. Versions are pinned, so that an
// update of a module does not change the meaning of a rule.
func options() []cel.EnvOption {
	return append([]cel.EnvOption{
		cel.CustomTypeAdapter(Adapter{}),
		cel.CrossTypeNumericComparisons(true),
		cel.DefaultUTCTimeZone(true),
		cel.EnableMacroCallTracking(),
		cel.EnableHiddenAccumulatorName(true),
		cel.EnableIdentifierEscapeSyntax(),
		cel.ParserExpressionSizeLimit(maxExpression),
		cel.ParserRecursionLimit(maxNesting),
	}, Libraries()...)
}

// Overloads returns the overloads of a function; none for an unknown name.
func (e *Env) Overloads(name string) []*decls.OverloadDecl { return e.overloads[name] }

// Signatures returns the overloads of a function as text, such as "string.startsWith(string)", each once, in the order
// of their declaration. It returns none for an unknown name.
func (e *Env) Signatures(name string) []string {
	var forms []string
	for _, o := range e.Overloads(name) {
		if form := signatureOf(name, o); !slices.Contains(forms, form) {
			forms = append(forms, form)
		}
	}
	return forms
}

// maxForms is how many signatures of a function a hint shows. A longer list would help nobody.
const maxForms = 3

// Usage returns a hint how to call a function. It is empty for operators, and for functions with many signatures.
func (e *Env) Usage(name string) string {
	forms := e.Signatures(name)
	if len(forms) == 0 || len(forms) > maxForms || strings.Trim(name, "_@!?:[]-+*/%<>=&|") != name {
		return ""
	}
	return "write " + strings.Join(forms, " or ")
}

func signatureOf(name string, o *decls.OverloadDecl) string {
	args := make([]string, len(o.ArgTypes()))
	for i, t := range o.ArgTypes() {
		args[i] = ShortType(t)
	}
	if o.IsMemberFunction() && len(args) > 0 {
		return args[0] + "." + name + "(" + strings.Join(args[1:], ", ") + ")"
	}
	return name + "(" + strings.Join(args, ", ") + ")"
}

// ShortType names a type without its parameters.
func ShortType(t *types.Type) string {
	switch t.Kind() {
	case types.TypeParamKind, types.DynKind, types.AnyKind:
		return "any"
	case types.ListKind:
		return "list"
	case types.MapKind:
		return "map"
	case types.TimestampKind:
		return "timestamp"
	case types.DurationKind:
		return "duration"
	default:
		name := t.TypeName()
		if i := strings.LastIndexByte(name, '.'); i >= 0 {
			name = name[i+1:] // kubernetes.URL
		}
		return strings.TrimSuffix(name, "_type")
	}
}
