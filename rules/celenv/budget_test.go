package celenv

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/cel-go/interpreter"
)

// heavy are values that are as large as an object can be.
func heavy(name string) any {
	switch name {
	case "text":
		return strings.Repeat("a", 1536<<10)
	case "lines":
		return strings.Repeat("key: [1, 2, {a: b}]\n", 256<<10/20)
	case "items":
		items := make([]any, 300_000)
		for i := range items {
			items[i] = fmt.Sprint(len(items) - i)
		}
		return items
	case "objects":
		objects := make([]any, 50_000)
		for i := range objects {
			objects[i] = map[string]any{"a": map[string]any{"b": int64(i)}}
		}
		return objects
	}
	return nil
}

// longest are the calls that could take long, with values that are as large as an
// object can be.
func longest() []string {
	return []string{
		`items.sort()`, `lists.range(50000).sort()`, `lists.range(50000).sortBy(x, -x)`, `lists.range(50000).map(x, string(-x)).sort()`,
		`items.distinct()`, `objects.distinct()`, `sets.contains(items, items)`, `sets.equivalent(objects, objects)`, `sets.intersects(items, objects)`,
		`items.join(text)`, `items.join(",")`, `[items, [items, items]].flatten(3)`, `[objects, objects].flatten(5)`,
		`text.matches("(a|b|c|aa)*b")`, `text.matches("(a{100}){9}b")`, `text.find("(x+x+)+y")`, `text.findAll("a*?b")`, `text.findAll("a")`,
		`text.matches("(a?){30}" + "a{30}")`, `text.matches(text)`, `"a".matches(text.substring(0, 9000))`,
		`text.indexOf(text.substring(0, 700000) + "b")`, `text.lastIndexOf("b" + text.substring(0, 700000))`, `text.indexOf("aaaaaaaaab")`,
		`text.replace("a", "bb")`, `text.replace("a", "b")`, `text.replace("a", text)`, `text.split("a")`, `text.split("")`, `text.reverse()`, `text + text`,
		`items + items`, `objects + [1]`, `objects == objects`, `{"a": 1} in objects`, `"x" in items`, `items.indexOf("x")`, `items.isSorted()`, `items.min()`,
		`"%s".format([text])`, `"%s %s".format([items, items])`, `strings.quote(text)`, `text.upperAscii()`, `size(text)`, `text.charAt(1000000)`,
		`toJson(objects)`, `toYaml(objects)`, `toJson(text)`, `fromYaml(lines)`, `fromJson(toJson(objects))`, `sha256(text)`, `base64.encode(bytes(text))`,
		`dnsName(text)`, `url("http://" + text.substring(100))`, `isURL(text)`, `isQuantity(text)`, `isSemver(text)`, `isIP(text)`, `isCIDR(text)`,
		`format.dns1123Label().validate(text)`, `deepMerge({"a": objects}, {"a": objects})`, `int(text)`, `timestamp(text)`, `duration(text)`,
	}
}

// heavyVars are the names of longest with their values.
func heavyVars(tb testing.TB) (Scope, interpreter.Activation) {
	tb.Helper()
	vars := map[string]any{}
	var scope Scope
	for _, name := range []string{"text", "lines", "items", "objects"} {
		vars[name] = heavy(name)
		scope = append(scope, name)
	}
	activation, err := interpreter.NewActivation(vars)
	if err != nil {
		tb.Fatal(err)
	}
	return scope, activation
}

// program compiles an expression whose cost has no limit.
func program(tb testing.TB, expr string, scope Scope) *Program {
	tb.Helper()
	env, err := Shared()
	if err != nil {
		tb.Fatal(err)
	}
	x, issues := env.Compile(expr, scope)
	if len(issues) > 0 {
		tb.Fatalf("%s: %v", expr, issues)
	}
	prog, issues := NewProgram(x, Options{CostLimit: 1 << 60})
	if len(issues) > 0 {
		tb.Fatalf("%s: %v", expr, issues)
	}
	return prog
}

// allocates is how many bytes are allocated in all while f runs: the least of some
// runs, as something may run beside it.
func allocates(f func()) int64 {
	least := int64(math.MaxInt64)
	for range 2 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		f()
		runtime.ReadMemStats(&after)
		least = min(least, int64(after.TotalAlloc-before.TotalAlloc)) //nolint:gosec // It does not come near 2^63.
	}
	return least
}

// The longest calls cost, allocate and hold no more than this. None is interrupted, so
// this is what one worker needs at the most beside what its evaluation holds.
func TestLongestCalls(t *testing.T) {
	const (
		mostCost      = 900_000
		mostAllocated = 40 << 20
		mostHeld      = 4 << 20
	)
	scope, vars := heavyVars(t)
	for _, expr := range longest() {
		prog := program(t, expr, scope)
		b := &Budget{}
		allocated := allocates(func() {
			*b = Budget{Cost: 1 << 60}
			_, _ = prog.EvalWithin(t.Context(), vars, b) // Many are refused.
		})
		if cost := 1<<60 - b.Cost; cost > mostCost {
			t.Errorf("%s costs %d, want %d at the most", expr, cost, mostCost)
		}
		if allocated > mostAllocated {
			t.Errorf("%s allocates %d bytes, want %d at the most", expr, allocated, mostAllocated)
		}
		if held := b.Memory.Used(); held > mostHeld {
			t.Errorf("%s holds %d bytes, want %d at the most", expr, held, mostHeld)
		}
	}
}

// What one call could make a lot of is refused before it is made, also where the text
// that it looks at is short.
func TestRefusedBeforeTheCall(t *testing.T) {
	scope, vars := heavyVars(t)
	for expr, want := range map[string]string{
		`"%.1000000f".format([1.0])`:                                        "precision 1000000 exceeds maximum allowed precision 100",
		`"%.1000000e".format([1.0])`:                                        "precision 1000000 exceeds maximum allowed precision 100",
		`lists.range(20000).map(x, "%d").join().format(lists.range(20000))`: "format: more than 10000 clauses",
		`text.split("")`:                                                    "split would give a list of more than 100000 items",
		`text.split("", 200000)`:                                            "split would give a list of more than 100000 items",
		`text.substring(0, 200000).findAll("a")`:                            "findAll would give a list of more than 100000 items",
		`text.substring(0, 200000).findAll("" + "a")`:                       "findAll would give a list of more than 100000 items",
		`text.replace("", text)`:                                            "the arguments have more than 1572864 bytes",
		`text.substring(0, 700000).replace("", text.substring(0, 700000))`:  "arguments of 700001 and 700001 bytes are too large for one call",
		`bytes(text) + bytes(text)`:                                         "+ would give more than 1572864 bytes",
		`fromJson("[" + text.substring(0, 300000).replace("a", "{}").replace("}{", "},{") + "]")`: "fromJson could give more than 16777216 bytes",
		`quantity("1e-999999999")`:   "the exponent of a quantity can have at most 3 digits",
		`isQuantity("1e-999999999")`: "the exponent of a quantity can have at most 3 digits",
	} {
		prog := program(t, expr, scope)
		var err error
		allocated := allocates(func() {
			_, err = prog.EvalWithin(t.Context(), vars, &Budget{Cost: 1 << 60})
		})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", expr, err, want)
		}
		most := int64(20 << 20)
		if raceDetector {
			most *= 10 // which has pools of buffers drop some of them
		}
		if allocated > most {
			t.Errorf("%s allocates %d bytes, want %d at the most", expr, allocated, most)
		}
	}
}

// BenchmarkLongestCalls tells how long after its deadline an expression ends that
// makes one of the longest calls: a call is not interrupted, so what could take long
// is refused before.
func BenchmarkLongestCalls(b *testing.B) {
	scope, activation := heavyVars(b)
	const allowed = 20 * time.Millisecond
	for _, expr := range longest() {
		prog := program(b, expr, scope)
		b.Run(expr, func(b *testing.B) {
			for b.Loop() {
				_, _ = prog.EvalWithin(b.Context(), activation, &Budget{Cost: 1 << 60, Time: allowed})
			}
			late := max(0, b.Elapsed()/time.Duration(b.N)-allowed)
			b.ReportMetric(float64(late.Microseconds())/1000, "ms-late")
		})
	}
}

// Lists of texts or of ints are compared in a way of our own, with what cel-go's
// gives.
func TestSetsOfScalars(t *testing.T) {
	t.Parallel()
	for expr, want := range map[string]any{
		`["b", "a", "b", "c", "a"].distinct() == ["b", "a", "c"]`: true,
		`[2, 1, 2].distinct() == [2, 1]`:                          true,
		`[1, 1.0, "1"].distinct().size()`:                         int64(2),
		`[].distinct() == []`:                                     true,
		`lists.range(20000).distinct().size()`:                    int64(20000),
		`sets.contains(["a", "b"], ["b", "b"])`:                   true,
		`sets.contains(["a", "b"], ["b", "c"])`:                   false,
		`sets.contains([1, 2], [dyn(1.0)])`:                       true,
		`sets.contains([1, 2], [])`:                               true,
		`sets.contains([], ["a"])`:                                false,
		`sets.equivalent(["a", "b"], ["b", "a", "a"])`:            true,
		`sets.equivalent(["a", "b"], ["b"])`:                      false,
		`sets.intersects([1, 2], [3, 2])`:                         true,
		`sets.intersects([1, 2], [3])`:                            false,
		`sets.intersects(["1"], [dyn(1)])`:                        false,
		`sets.contains(lists.range(20000), lists.range(10000))`:   true,
	} {
		got, err := eval(t, expr)
		if err != nil || got != want {
			t.Errorf("%s: got %v, %v; want %v", expr, got, err, want)
		}
	}
}

// A budget is shared by what runs in it; its time begins with the first expression
// that can take long, and anew after Restart.
func TestBudget(t *testing.T) {
	t.Parallel()
	env, err := Shared()
	if err != nil {
		t.Fatal(err)
	}
	run := func(expr string, b *Budget) error {
		x, issues := env.Compile(expr, nil)
		if len(issues) > 0 {
			t.Fatal(issues)
		}
		prog, issues := NewProgram(x, Options{})
		if len(issues) > 0 {
			t.Fatal(issues)
		}
		_, err := prog.EvalWithin(t.Context(), interpreter.EmptyActivation(), b)
		return err
	}
	const loop = `lists.range(1000).all(x, x >= 0)`
	b := &Budget{Cost: 6000}
	if err := run(loop, b); err != nil {
		t.Fatal(err)
	}
	left := b.Cost
	if left >= 5000 {
		t.Errorf("a loop of 1000 turns left %d of 6000", left)
	}
	if err := run(`1 + 1 == 2`, b); err != nil || b.Cost != left-2 {
		t.Errorf("a small expression: %v, and %d are left of %d", err, b.Cost, left)
	}
	if err := run(loop, b); !errors.Is(err, ErrBudget) || b.Cost != 0 {
		t.Errorf("got %v with %d left, want ErrBudget with nothing left", err, b.Cost)
	}
	b = &Budget{Cost: 1 << 40, Time: time.Nanosecond}
	if err := run(loop, b); !errors.Is(err, ErrDeadline) {
		t.Errorf("got %v, want ErrDeadline", err)
	}
	b.Time = time.Hour
	if err := run(loop, b); !errors.Is(err, ErrDeadline) {
		t.Errorf("before a restart: got %v, want ErrDeadline", err)
	}
	b.Restart()
	if err := run(loop, b); err != nil {
		t.Errorf("after a restart: %v", err)
	}
}
