package celenv

import (
	"fmt"
	rand "math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/decls"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/interpreter"
)

// The limits under which generated expressions run, and what one may allocate: a fixed
// part, so much for every unit that it costs, and a multiple of the bytes that it was
// charged for making.
const (
	fuzzCost   = 20_000
	fuzzMemory = 2 << 20

	baseAllocated = 1 << 20
	unitAllocated = 512
	byteAllocated = 6
)

// writer writes an expression, of which every choice is a byte of the input.
type writer struct {
	data  []byte
	names []string // those of loops around
	// calls are the ways to call a function that gives a value of a type.
	calls map[string][]overload
	left  int
}

type overload struct {
	function string
	*decls.OverloadDecl
}

func newWriter(env *Env, data []byte) *writer {
	w := &writer{data: data, calls: map[string][]overload{}, left: 60}
	base, err := cel.NewEnv(Libraries()...)
	if err != nil {
		panic(err)
	}
	functions := base.Functions()
	for _, name := range env.FunctionNames() {
		fn, ok := functions[name]
		if !ok {
			continue
		}
		for _, o := range fn.OverloadDecls() {
			kind := kindOf(o.ResultType())
			w.calls[kind] = append(w.calls[kind], overload{name, o})
		}
	}
	return w
}

// choose gives a number below n; 0 when the input is used up.
func (w *writer) choose(n int) int {
	if len(w.data) == 0 {
		return 0
	}
	b := w.data[0]
	w.data = w.data[1:]
	return int(b) % n
}

// kindOf is what the writer knows of a type.
func kindOf(t *types.Type) string {
	switch t.Kind() {
	case types.TypeParamKind, types.DynKind, types.AnyKind:
		return "any"
	default:
		return t.TypeName()
	}
}

// leaves are the shortest expressions of each kind. The first is taken where there is
// no more input.
func leaves(kind string) []string {
	return map[string][]string{
		"string":                    {"short", "text", "''", "'a'", "'%s %.50f'", "'{\"a\": [1, {}]}'", "'a: [1, {b: c}]'", "'(a|b)*c'", "'1e3'", "'10.0.0.0/8'", "'* * * * *'", "'UTC'"},
		"int":                       {"1", "0", "-1", "100", "5000", "9223372036854775807", "size(text)"},
		"uint":                      {"1u", "0u", "18446744073709551615u"},
		"double":                    {"1.5", "0.0", "-1.0e300", "1.0e-300"},
		"bool":                      {"true", "false"},
		"bytes":                     {"b'abc'", "b''", "bytes(text)"},
		"null_type":                 {"null"},
		"list":                      {"items", "[]", "numbers", "[1]", "[items, [items]]", "objects", "['a']"},
		"map":                       {"object", "{}", "{'a': items}", "{'a': {'b': object}}", "{1: 2}"},
		"optional_type":             {"optional.none()", "optional.of(text)", "object.?a", "items[?1]"},
		"google.protobuf.Timestamp": {"timestamp('2026-01-31T12:00:00Z')", "timestamp(0)"},
		"google.protobuf.Duration":  {"duration('1h')", "duration('-1s')"},
		"kubernetes.Quantity":       {"quantity('1.5Gi')", "quantity('1e900')"},
		"kubernetes.URL":            {"url('http://a/b?c=d&c=e')"},
		"kubernetes.Semver":         {"semver('1.2.3')"},
		"kubernetes.NamedFormat":    {"format.dns1123Label()"},
		"net.IP":                    {"ip('10.0.0.1')"},
		"net.CIDR":                  {"cidr('10.0.0.0/8')"},
		"kanon.Cron":                {"cron('*/5 * * * *', 'UTC')"},
		"any":                       {"text", "items", "object", "1", "1.5", "null", "objects", "b'abc'"},
	}[kind]
}

// expr writes an expression of a kind.
func (w *writer) expr(kind string) string {
	w.left--
	if kind == "any" && w.choose(3) > 0 {
		kind = []string{"string", "list", "map", "int", "bytes", "optional_type"}[w.choose(6)]
	}
	if len(w.names) > 0 && w.choose(3) == 1 {
		return w.names[w.choose(len(w.names))]
	}
	short := leaves(kind)
	if len(short) > 0 && (w.left <= 0 || len(w.data) == 0 || w.choose(4) == 0) {
		return short[w.choose(len(short))]
	}
	if form := w.operator(kind); form != "" && w.choose(2) == 0 {
		return form
	}
	calls := w.calls[kind]
	switch {
	case len(short) == 0 && (w.left <= 0 || len(w.data) == 0), len(calls) == 0 && len(short) == 0:
		return "null"
	case len(calls) == 0:
		return short[0]
	}
	at := w.choose(len(calls))
	if len(calls) > 256 {
		at = (at*256 + w.choose(256)) % len(calls)
	}
	c := calls[at]
	args := make([]string, len(c.ArgTypes()))
	for i, t := range c.ArgTypes() {
		args[i] = w.expr(kindOf(t))
	}
	if c.IsMemberFunction() {
		return fmt.Sprintf("(%s).%s(%s)", args[0], c.function, strings.Join(args[1:], ", "))
	}
	return fmt.Sprintf("%s(%s)", c.function, strings.Join(args, ", "))
}

// operator writes what is not a function: operators, literals and macros.
func (w *writer) operator(kind string) string {
	loop := func(format string) string {
		over := w.expr("list")
		name := fmt.Sprintf("x%d", len(w.names))
		w.names = append(w.names, name)
		inner := w.expr([]string{"any", "bool", "string", "list", "map", "int"}[w.choose(6)])
		w.names = w.names[:len(w.names)-1]
		return fmt.Sprintf(format, over, name, inner)
	}
	switch kind {
	case "string", "bytes":
		return fmt.Sprintf("(%s + %s)", w.expr(kind), w.expr(kind))
	case "int", "double":
		return fmt.Sprintf("(%s %s %s)", w.expr(kind), []string{"+", "-", "*", "/"}[w.choose(4)], w.expr(kind))
	case "bool":
		return []func() string{
			func() string { return fmt.Sprintf("(%s == %s)", w.expr("any"), w.expr("any")) },
			func() string { return fmt.Sprintf("(%s in %s)", w.expr("any"), w.expr("list")) },
			func() string { return loop("(%s).all(%s, dyn(%s) == 1)") },
			func() string { return loop("(%s).exists(%s, dyn(%s) == 1)") },
		}[w.choose(4)]()
	case "list":
		return []func() string{
			func() string { return fmt.Sprintf("(%s + %s)", w.expr(kind), w.expr(kind)) },
			func() string { return loop("(%s).map(%s, %s)") },
			func() string { return loop("(%s).filter(%s, dyn(%s) != 1)") },
			func() string { return fmt.Sprintf("[%s, %s]", w.expr("any"), w.expr("any")) },
			func() string { return loop("(%s).sortBy(%s, string(dyn(%s)))") },
			func() string { return loop("(%s).transformList(i, %s, %s)") },
		}[w.choose(6)]()
	case "map":
		return []func() string{
			func() string { return fmt.Sprintf("{%s: %s}", w.expr("string"), w.expr("any")) },
			func() string { return loop("(%s).transformMap(i, %s, %s)") },
			func() string { return loop("(%s).transformMapEntry(i, %s, {string(i): %s})") },
			func() string { return loop("(%s).transformMapEntry(i, %s, %s)") },
		}[w.choose(4)]()
	case "any":
		return []func() string{
			func() string { return fmt.Sprintf("(%s ? %s : %s)", w.expr("bool"), w.expr(kind), w.expr(kind)) },
			func() string { return fmt.Sprintf("cel.bind(b, %s, [b, b])", w.expr(kind)) },
			func() string { return fmt.Sprintf("(%s)[%s]", w.expr("list"), w.expr("int")) },
		}[w.choose(3)]()
	}
	return ""
}

// fuzzVars are the values of the names that generated expressions read.
type fuzzVars struct {
	values map[string]any
	budget *Budget
}

func newFuzzVars() *fuzzVars {
	items, numbers, objects := []any{}, []any{}, []any{}
	for i := range 300 {
		items = append(items, fmt.Sprintf("item-%d", i))
		numbers = append(numbers, int64(i))
		objects = append(objects, map[string]any{"a": map[string]any{"b": int64(i)}})
	}
	return &fuzzVars{values: map[string]any{
		"short": "a-1", "text": strings.Repeat("ab\"ä\n", 1000), "items": items, "numbers": numbers, "objects": objects,
		"object": map[string]any{"a": "b", "c": items, "d": objects},
	}}
}

func (v *fuzzVars) scope() Scope {
	var names Scope
	for name := range v.values {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Parent implements interpreter.Activation.
func (v *fuzzVars) Parent() interpreter.Activation { return nil }

// ResolveName implements interpreter.Activation.
func (v *fuzzVars) ResolveName(name string) (any, bool) {
	val, ok := v.values[name]
	return val, ok
}

// bounded evaluates an expression, and holds it to its limits and to what it may
// allocate within them. It is false where it does not compile.
func bounded(t *testing.T, env *Env, vars *fuzzVars, text string) (compiles, hasValue bool) {
	t.Helper()
	x, issues := env.Compile(text, vars.scope())
	if len(issues) > 0 {
		return false, false
	}
	prog, issues := NewProgram(x, Options{CostLimit: fuzzCost})
	if len(issues) > 0 {
		return false, false
	}
	vars.budget = &Budget{}
	var err error
	allocated := allocates(func() {
		*vars.budget = Budget{Cost: 10 * fuzzCost, Memory: Memory{Limit: fuzzMemory}}
		_, err = prog.EvalWithin(t.Context(), vars, vars.budget)
	})
	cost := int64(10*fuzzCost - vars.budget.Cost) //nolint:gosec // Small.
	most := baseAllocated + unitAllocated*cost + byteAllocated*vars.budget.Memory.made
	if raceDetector {
		most *= 3 // as in TestRefusedBeforeTheCall
	}
	if allocated > most {
		t.Errorf("%s\nallocates %d bytes; it costs %d and was charged %d bytes, so it may allocate %d (%v)", text, allocated, cost, vars.budget.Memory.made, most, err)
	}
	if vars.budget.Memory.Used() > fuzzMemory {
		t.Errorf("%s\nholds %d bytes", text, vars.budget.Memory.Used())
	}
	return true, err == nil
}

// FuzzBounds holds that no expression allocates more than its cost and the bytes that
// it is charged for say, whichever functions it calls.
func FuzzBounds(f *testing.F) {
	env, err := Shared()
	if err != nil {
		f.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // The same numbers each time are the point.
	for range 50 {
		data := make([]byte, 60)
		for i := range data {
			data[i] = byte(random.Uint32())
		}
		f.Add(data)
	}
	vars := newFuzzVars()
	f.Fuzz(func(t *testing.T, data []byte) {
		bounded(t, env, vars, newWriter(env, data).expr("any"))
	})
}

// The same for some thousand expressions at each run of the tests; enough of them come
// to a value, and they call most of the functions.
func TestGeneratedExpressions(t *testing.T) {
	env, err := Shared()
	if err != nil {
		t.Fatal(err)
	}
	const n = 500
	random := rand.New(rand.NewPCG(3, 4)) //nolint:gosec // As above.
	vars := newFuzzVars()
	compiled, valued, called := 0, 0, map[string]bool{}
	for range n {
		data := make([]byte, 10+random.IntN(70))
		for i := range data {
			data[i] = byte(random.Uint32())
		}
		text := newWriter(env, data).expr([]string{"any", "string", "list", "map", "bytes", "bool"}[random.IntN(6)])
		compiles, hasValue := bounded(t, env, vars, text)
		if compiles {
			compiled++
			for _, name := range env.FunctionNames() {
				if strings.Contains(text, name+"(") {
					called[name] = true
				}
			}
		}
		if hasValue {
			valued++
		}
	}
	if compiled < n/2 || valued < n/10 || len(called) < len(env.FunctionNames())/2 {
		t.Errorf("%d of %d compile, %d have a value, and they call %d of %d functions", compiled, n, valued, len(called), len(env.FunctionNames()))
	}
}
