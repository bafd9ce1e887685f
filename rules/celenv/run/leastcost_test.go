package run

import (
	"math"
	"testing"

	"github.com/google/cel-go/interpreter"

	"kanon.dev/kanon/rules/celenv"
)

// The least cost is never more than what an evaluation costs, and near to it where
// all loops are over lists of a known length.
func TestLeastCost(t *testing.T) {
	t.Parallel()
	env, err := celenv.Shared()
	if err != nil {
		t.Fatal(err)
	}
	for expr, want := range map[string]uint64{
		`1 + 1`:                                                                  0,
		`lists.range(1000).map(x, x)`:                                            2000,
		`lists.range(1000).all(x, x >= 0)`:                                       1000,
		`lists.range(1000).filter(x, x > 3)`:                                     2000,
		`lists.range(100).map(x, lists.range(100).map(y, x))`:                    100 + 100 + 100*200,
		`[1, 2, 3].map(x, lists.range(1000))`:                                    3 + 3*1000,
		`lists.range(1000).map(x, x > 5, x)`:                                     2000,
		`lists.range(100).map(x, x).map(y, y)`:                                   300,
		`true || lists.range(1000).map(x, x) == []`:                              0,
		`false ? lists.range(1000).map(x, x) : []`:                               0,
		`cel.bind(a, lists.range(1000), a.size())`:                               0,
		`{"a": lists.range(1000).map(x, x)}.size()`:                              2000,
		`optional.of(1).or(optional.of(lists.range(1000).size())).orValue(1)`:    0,
		`lists.range(100).exists(x, lists.range(100).map(y, y).size() == x)`:     100,
		`lists.range(100).map(x, [x, 1]).map(y, y.map(z, z)).size()`:             300,
		`lists.range(10).transformList(i, v, lists.range(10).map(x, x)).size()`:  10 + 10 + 10*20,
		`[1, ?optional.none()].map(x, lists.range(100).map(y, y).size()).size()`: 1 + 200,
	} {
		x, issues := env.Compile(expr, nil)
		if len(issues) > 0 {
			t.Fatalf("%s: %v", expr, issues)
		}
		prog, issues := New(x, Options{})
		if len(issues) > 0 {
			t.Fatalf("%s: %v", expr, issues)
		}
		const all = 1 << 30
		b := &Budget{Cost: all}
		if _, err := prog.EvalWithin(t.Context(), interpreter.EmptyActivation(), b); err != nil {
			t.Errorf("%s: %v", expr, err)
		}
		least, spent := LeastCost(x), all-b.Cost
		if least > spent || least < want {
			t.Errorf("%s: at least %d, want %d or more; it costs %d", expr, least, want, spent)
		}
	}
	x, _ := env.Compile(`lists.range(9223372036854775807).map(x, lists.range(9223372036854775807).map(y, lists.range(9223372036854775807)))`, nil)
	if got := LeastCost(x); got != math.MaxUint64 {
		t.Errorf("got %d, want all there is", got)
	}
}
