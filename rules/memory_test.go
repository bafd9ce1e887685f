package rules

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/semaphore"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/rules/program"
)

// allocates is how many bytes are allocated in all while f runs. Nothing else may run.
func allocates(f func()) int64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int64(after.TotalAlloc - before.TotalAlloc) //nolint:gosec // As in heap.
}

// doublings is a rule whose variables are each twice as long as the one before.
func doublings(first string, n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "  variables:\n  - {name: v0, value: \"${%s}\"}\n", first)
	for i := range n {
		fmt.Fprintf(&b, "  - {name: v%d, value: \"${variables.v%d + variables.v%d}\"}\n", i+1, i, i)
	}
	fmt.Fprintf(&b, "  status: {size: \"${variables.v%d.size()}\"}\n", n)
	return b.String()
}

// What is put together is bounded before it is made, whatever it is made of.
func TestDoublings(t *testing.T) {
	for name, test := range map[string]struct{ first, want string }{
		"text":  {"'0123456789'", "variables.v17 + variables.v17: + would give more than 1572864 bytes (in variables.v18)"},
		"bytes": {"b'0123456789'", "variables.v17 + variables.v17: + would give more than 1572864 bytes (in variables.v18)"},
		"lists": {"[1, 2, 3]", "variables.v15 + variables.v15: + would give a list of more than 100000 items (in variables.v16)"},
		"text of the object": {
			"parent.metadata.name",
			"variables.v18 + variables.v18: + would give more than 1572864 bytes (in variables.v19)",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := compileWithin(t, doublings(test.first, 33), program.Limits{})
			parent := parse(t, webApp)[0]
			var got []string
			made := allocates(func() { got = failures(t, p, parent) })
			if len(got) != 1 || !strings.HasPrefix(got[0], "status.size: "+test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if most := int64(16 << 20); made > most {
				t.Errorf("%d bytes were allocated, want %d at the most", made, most)
			}
		})
	}
}

// nested is a rule with n variables that each contain the one before three times, put together by form.
func nested(form, use string, n int) string {
	var b strings.Builder
	b.WriteString("  variables:\n  - {name: v0, value: \"${parent.metadata.name}\"}\n")
	for i := range n {
		value := strings.ReplaceAll(form, "V", fmt.Sprint("variables.v", i))
		fmt.Fprintf(&b, "  - {name: v%d, value: '${%s}'}\n", i+1, value)
	}
	fmt.Fprintf(&b, "  children:\n  - id: a\n    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: '${%s}'}}\n",
		strings.ReplaceAll(use, "V", fmt.Sprint("variables.v", n)))
	return b.String()
}

// A value that contains another one many times is small, but its copy is not. Whatever the depth, the copy is bounded before
// it is made.
func TestNestedLiterals(t *testing.T) {
	const fields, items = `{"a": V, "b": V, "c": V}`, `[V, V, V]`
	for name, test := range map[string]struct{ form, use string }{
		"toJson":    {fields, "toJson(V)"},
		"toYaml":    {fields, "toYaml(V)"},
		"equality":  {fields, "string(V == V)"},
		"lists":     {items, "toJson(V)"},
		"deepMerge": {fields, `toJson(deepMerge({"a": V}, {"a": V}))`},
		"rendered":  {fields, "V"},
	} {
		t.Run(name, func(t *testing.T) {
			most := int64(0)
			for n := 6; n <= 24; n++ {
				p := compileWithin(t, nested(test.form, test.use, n), program.Limits{})
				parent := parse(t, webApp)[0]
				var got []string
				made := allocates(func() { got = failures(t, p, parent) })
				if n == 24 && (len(got) != 1 || !strings.Contains(got[0], "variables.v24")) {
					t.Errorf("no message names the variable: %q", got)
				}
				most = max(most, made)
			}
			t.Logf("at most %d MiB", most>>20)
			if limit := int64(96 << 20); most > limit {
				t.Errorf("%d bytes were allocated in all, want %d at the most", most, limit)
			}
		})
	}
}

// manyLarge is a rule with items of which each holds a variable of 1.4 MB.
const manyLarge = `
  children:
  - id: large
    forEach: [{name: i, in: "${lists.range(150)}"}]
    variables: [{name: text, value: "${parent.spec.half + parent.spec.half}"}]
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "a-${i}"}, data: {size: "${variables.text.size()}"}}
`

func largeParent(tb testing.TB) *unstructured.Unstructured {
	tb.Helper()
	parent := parse(tb, webApp)[0]
	parent.Object["spec"] = map[string]any{"half": strings.Repeat("x", 700_000)}
	return parent
}

// All that an evaluation holds at the same time is bounded, and the message names the
// node, the expression and the option.
func TestReconcileBytes(t *testing.T) {
	p := compileWithin(t, manyLarge, program.Limits{ReconcileBytes: 10 << 20, Deadline: time.Hour})
	parent := largeParent(t)
	var got []string
	made := allocates(func() { got = failures(t, p, parent) })
	want := []string{"large: template.data.size: parent.spec.half + parent.spec.half: " +
		"with what the other values take, it needs more memory than the 10,485,760 bytes allowed by --max-reconcile-bytes (in variables.text)"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if made > 250<<20 { // what is refused was made before, one after the other
		t.Errorf("%d bytes were allocated", made)
	}
	if got := failures(t, compileWithin(t, manyLarge, program.Limits{ReconcileBytes: 250 << 20, ReconcileCost: 1 << 40, Deadline: time.Hour}), parent); got != nil {
		t.Errorf("with more: %q", got)
	}
}

// Whatever holds memory counts.
func TestWhatCountsForReconcileBytes(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"a text":              `  status: {a: "${parent.spec.half}-${parent.spec.half}"}`,
		"texts in a variable": `  variables: [{name: v, value: {a: "${parent.spec.half}-", b: "${parent.spec.half}-"}}]` + "\n" + `  status: {a: "${variables.v.size()}"}`,
		"bytes":               `  status: {a: "${(bytes(parent.spec.half) + bytes(parent.spec.half)).size()}"}`,
		"a list":              `  variables: [{name: v, value: "${lists.range(50000)}"}]` + "\n" + `  status: {a: "${variables.v.size()}"}`,
		"what a loop gathers": `  status: {a: "${lists.range(2000).map(x, lists.range(30)).size()}"}`,
		"a map":               `  status: {a: "${lists.range(10000).transformMap(i, v, string(v)).size()}"}`,
		"decoded JSON":        `  status: {a: "${fromJson('[' + lists.range(20000).map(x, '1').join(',') + ']').size()}"}`,
		"objects": `
  children:
  - id: large
    forEach: [{name: i, in: "${lists.range(2000)}"}]
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "a-${i}", labels: {a: b, c: d, e: f}}, data: {a: "1", b: "2", c: "3", d: "4", e: "5", f: "6", g: "7"}}`,
		"items": `
  children:
  - id: large
    forEach: [{name: i, in: "${lists.range(9000)}"}]
    when: ${i < 0}
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "a-${i}"}}`,
		"a copy of the parent": `
  variables: [{name: v, value: ["${parent.spec.list}", "${parent.spec.list}", "${parent.spec.list}"]}]
  status: {a: "${variables.v}"}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			parent := largeParent(t)
			list := make([]any, 9000)
			for i := range list {
				list[i] = int64(i)
			}
			parent.Object["spec"].(map[string]any)["list"] = list //nolint:forcetypeassert // It is one.
			got := failures(t, compileWithin(t, body, program.Limits{ReconcileBytes: 1 << 20, Deadline: time.Hour}), parent)
			if len(got) == 0 || !strings.Contains(got[0], "more memory than the 1,048,576 bytes allowed by --max-reconcile-bytes") {
				t.Errorf("got %q", got)
			}
			if got := failures(t, compileWithin(t, body, program.Limits{Deadline: time.Hour}), parent); got != nil {
				t.Errorf("within the default: %q", got)
			}
		})
	}
}

// What an expression made on its way to its value is not counted any more afterwards.
func TestGarbageDoesNotCount(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("  status:\n")
	for i := range 50 {
		fmt.Fprintf(&b, "    a%d: \"${(parent.spec.half + '%d').size()}\"\n    b%d: \"${lists.range(%d).map(x, string(x)).join(',').size()}\"\n", i, i, i, 5000+i)
	}
	if got := failures(t, compileWithin(t, b.String(), program.Limits{ReconcileBytes: 2 << 20, Deadline: time.Hour}), largeParent(t)); got != nil {
		t.Errorf("got %q", got)
	}
}

// runToEnd runs an evaluation to its end.
func runToEnd(ev *program.Evaluation) {
	for batch := ev.Next(); len(batch) > 0; batch = ev.Next() {
		for _, r := range batch {
			ev.Applied(r.Node, r.Objects)
		}
	}
	ev.Result()
}

// When all evaluations together need more than there is, one ends as starved, gives
// nothing to write, and runs with a reservation when the others are done.
func TestSharedMemory(t *testing.T) {
	t.Parallel()
	const size = 8 << 20
	p := compileWithin(t, strings.ReplaceAll(manyLarge, "range(150)", "range(4)"), program.Limits{ReconcileBytes: size})
	account := semaphore.NewWeighted(size)
	in := program.Input{Parent: largeParent(t), Memory: account}
	first, second := p.Evaluate(t.Context(), in), p.Evaluate(t.Context(), in)
	if batch := first.Next(); len(batch) != 1 || first.OutOfMemory() {
		t.Fatalf("the first gives %v, starved: %t", batch, first.OutOfMemory())
	}
	if batch := second.Next(); len(batch) != 0 || !second.OutOfMemory() {
		t.Fatalf("the second gives %v, starved: %t", batch, second.OutOfMemory())
	}
	second.Close()
	third := p.Evaluate(t.Context(), in)
	reserved := make(chan error)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { reserved <- third.Reserve(ctx) }()
	cancel()
	if err := <-reserved; err == nil {
		t.Fatal("there was memory to reserve while the first held it")
	}
	third.Close()
	go func() { reserved <- third.Reserve(t.Context()) }()
	first.Close()
	if err := <-reserved; err != nil {
		t.Fatal(err)
	}
	runToEnd(third)
	if third.OutOfMemory() {
		t.Error("starved with a reservation")
	}
	third.Close()
	third.Close()
	if !account.TryAcquire(size) {
		t.Error("not everything was returned")
	}
}

// A small evaluation goes on when the account is empty.
func TestSmallEvaluationsShareNothing(t *testing.T) {
	t.Parallel()
	account := semaphore.NewWeighted(1)
	p := compileWithin(t, `  status: {a: "${parent.metadata.name + '-x'}"}`, program.Limits{})
	ev := p.Evaluate(t.Context(), program.Input{Parent: parse(t, webApp)[0], Memory: account})
	if out := ev.Result(); ev.OutOfMemory() || out.Status["a"] != "shop-x" {
		t.Errorf("starved: %t, status %v", ev.OutOfMemory(), out.Status)
	}
}
