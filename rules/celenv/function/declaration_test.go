package function

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"k8s.io/apimachinery/pkg/util/sets"

	"kanon.dev/kanon/rules/celenv/value"
)

// knownOverloads has the ways to call each function, for which its declaration was written.
//
//go:embed testdata/overloads.txt
var knownOverloads string

// Every function and operator that an expression can call, with every way to call it,
// has a cost class and a bound of bytes; and nothing else has.
func TestEveryFunctionIsDeclared(t *testing.T) {
	t.Parallel()
	env := libraries(t)
	table := NewTable()
	overloads := map[string][]string{}
	for name, fn := range env.Functions() {
		for _, o := range fn.OverloadDecls() {
			overloads[name] = append(overloads[name], o.ID())
		}
	}
	if len(overloads) < 150 {
		t.Errorf("%d functions, want 150 at the least", len(overloads))
	}
	known := map[string][]string{}
	for line := range strings.SplitSeq(strings.TrimSpace(knownOverloads), "\n") {
		name, ids, _ := strings.Cut(line, ": ")
		known[name] = strings.Fields(ids)
	}
	for _, fn := range ownFunctions() {
		for _, s := range fn.signatures {
			known[fn.name] = append(known[fn.name], s.id)
		}
	}
	for _, wrong := range mismatches(table.declared, known, overloads) {
		t.Error(wrong)
	}
	for _, m := range env.Macros() { // they become calls, which are declared
		if _, ok := table.declared[m.Function()]; ok && !slices.Contains([]string{"all", "map"}, m.Function()) {
			t.Errorf("the macro %s is declared as a function", m.Function())
		}
	}
}

// libraries is an environment of CEL's own with all functions.
func libraries(t *testing.T) *cel.Env {
	t.Helper()
	env, err := cel.NewEnv(append(Libraries(), cel.CustomTypeAdapter(value.Adapter{}))...)
	if err != nil {
		t.Fatal(err)
	}
	return env
}

// mismatches lists what the declarations lack of an environment, and what they have too much. known are the ways to call each function
// for which they were written, and overloads those that the environment has.
func mismatches(all map[string]Declaration, known, overloads map[string][]string) []string {
	var wrong []string
	for function, ids := range overloads {
		declared := sets.New(known[function]...)
		for _, id := range ids {
			if !declared.Has(id) {
				wrong = append(wrong, fmt.Sprintf("%s, as %s, is not declared", function, id))
			}
			declared.Delete(id)
		}
		for id := range declared {
			wrong = append(wrong, fmt.Sprintf("%s is declared as %s, and cannot be called like that", function, id))
		}
		if d, ok := all[function]; ok && (d.cost == 0 || d.bytes.fixed == 0) {
			wrong = append(wrong, function+" is declared without a cost class or a bound of bytes")
		} else if !ok && len(known[function]) > 0 {
			wrong = append(wrong, function+" has no declaration")
		}
	}
	for function := range all {
		if _, ok := overloads[function]; !ok {
			wrong = append(wrong, function+" is declared, and there is no such function")
		}
	}
	return wrong
}

// What the comparison is for: a library brings a new function, or a new way to call an
// old one.
func TestUndeclared(t *testing.T) {
	t.Parallel()
	all := map[string]Declaration{
		"old":  {cost: costConstant, bytes: small()},
		"gone": {cost: costConstant, bytes: small()},
		"half": {cost: costConstant},
	}
	known := map[string][]string{"old": {"old_int"}, "gone": {"gone_int"}, "half": {"half_int"}}
	got := mismatches(all, known, map[string][]string{"old": {"old_int", "old_text"}, "new": {"new_int"}, "half": {"half_int"}})
	slices.Sort(got)
	want := []string{
		"gone is declared, and there is no such function",
		"half is declared without a cost class or a bound of bytes",
		"new, as new_int, is not declared",
		"old, as old_text, is not declared",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// What grows faster than its arguments is refused, or cannot be too long by its bound.
func TestCheckedFunctionsHaveLimits(t *testing.T) {
	t.Parallel()
	for name, d := range declarations() {
		if (d.cost == costChecked || d.cost == costPairs) && d.limits == nil && d.longest == 0 && d.bytes.of != nil {
			t.Errorf("%s has no limits", name)
		}
	}
}

// A value never takes more than the bound of the call that made it says.
func TestBoundsHold(t *testing.T) {
	t.Parallel()
	for expr, want := range map[string]struct {
		function string
		args     []ref.Val
	}{
		`"abc".replace("b", "xyz")`:       {"replace", []ref.Val{types.String("abc"), types.String("b"), types.String("xyz")}},
		`"abc".replace("", "xyz")`:        {"replace", []ref.Val{types.String("abc"), types.String(""), types.String("xyz")}},
		`"%.20f".format([1.0])`:           {"format", []ref.Val{types.String("%.20f"), types.NewDynamicList(value.Adapter{}, []any{1.0})}},
		`"%s %x".format(["abc", "äöü"])`:  {"format", []ref.Val{types.String("%s %x"), types.NewDynamicList(value.Adapter{}, []any{"abc", "äöü"})}},
		`"%f".format([1.0e300])`:          {"format", []ref.Val{types.String("%f"), types.NewDynamicList(value.Adapter{}, []any{1.0e300})}},
		`["a", "b", "c"].join(", ")`:      {"join", []ref.Val{types.NewDynamicList(value.Adapter{}, []string{"a", "b", "c"}), types.String(", ")}},
		`"a,b,c".split(",")`:              {"split", []ref.Val{types.String("a,b,c"), types.String(",")}},
		`strings.quote("\"\n\t\\")`:       {"strings.quote", []ref.Val{types.String("\"\n\t\\")}},
		`base64.encode(b"abcd")`:          {"base64.encode", []ref.Val{types.Bytes("abcd")}},
		`"äöü".upperAscii()`:              {"upperAscii", []ref.Val{types.String("äöü")}},
		`"äöü".reverse()`:                 {"reverse", []ref.Val{types.String("äöü")}},
		`b"abc" + b"def"`:                 {"_+_", []ref.Val{types.Bytes("abc"), types.Bytes("def")}},
		`[1, 2] + [3]`:                    {"_+_", []ref.Val{types.NewDynamicList(value.Adapter{}, []int64{1, 2}), types.NewDynamicList(value.Adapter{}, []int64{3})}},
		`lists.range(10)`:                 {"lists.range", []ref.Val{types.Int(10)}},
		`fromJson("[{\"a\": [1, 2.5]}]")`: {"fromJson", []ref.Val{types.String(`[{"a": [1, 2.5]}]`)}},
	} {
		env := libraries(t)
		x, issues := env.Compile(expr)
		if issues.Err() != nil {
			t.Fatalf("%s: %v", expr, issues)
		}
		prog, err := env.Program(x)
		if err != nil {
			t.Fatalf("%s: %v", expr, err)
		}
		val, _, err := prog.Eval(map[string]any{})
		if err != nil {
			t.Errorf("%s: %v", expr, err)
			continue
		}
		const most = 1 << 40
		bound := NewTable().declared[want.function].bytes.most(want.args)
		for _, arg := range want.args {
			bound += value.TextLength(arg) // which the value may share
		}
		if is := value.Retained(val, most); is > bound {
			t.Errorf("%s takes %d bytes, and its bound is %d", expr, is, bound)
		}
	}
}
