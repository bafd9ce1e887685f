package rules

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/rules/syntax"
)

// compileWithin compiles a rule of which body is the spec's rest.
func compileWithin(tb testing.TB, body string, l program.Limits) *program.Program {
	tb.Helper()
	docs, findings := syntax.Decode("f", []byte(ruleFor(body)))
	if findings.HasErrors() {
		tb.Fatal(findings)
	}
	p, findings := Compile(docs.Rules[0], Options{Limits: l})
	if p == nil {
		tb.Fatal(findings)
	}
	return p
}

// failures evaluates a rule and lists what failed in it: nodes and status.
func failures(tb testing.TB, p *program.Program, parent *unstructured.Unstructured) []string {
	tb.Helper()
	ev := p.Evaluate(tb.Context(), program.Input{Parent: parent})
	for batch := ev.Next(); len(batch) > 0; batch = ev.Next() {
		for _, r := range batch {
			ev.Applied(r.Node, r.Objects)
		}
	}
	var out []string
	outcome := ev.Result()
	for _, n := range outcome.Nodes {
		if n.State == program.StateFailed {
			out = append(out, fmt.Sprintf("%s: %s: %s", n.ID, n.Path, n.Message))
		}
	}
	for _, f := range outcome.StatusFailed {
		out = append(out, f.Path+": "+f.Message)
	}
	return out
}

const configMaps = `
  children:
  - id: first
    forEach: [{name: x, in: "${lists.range(600)}"}]
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "a-${x}"}}
  - id: second
    forEach: [{name: x, in: "${lists.range(500)}"}]
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "b-${x}"}}
`

// What goes over a limit fails where it stands, and the message has the figures and
// the option.
func TestLimits(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		body   string
		limits program.Limits
		want   []string
	}{
		"cost of one expression": {
			`  status: {a: "${lists.range(500 * parent.spec.list.size()).map(x, x).size()}", b: "${lists.range(5).map(x, x + 1).size()}"}`,
			program.Limits{ExpressionCost: 1000},
			[]string{"status.a: lists.range(500 * parent.spec.list.size()).map(x, x).size(): costs more than the 1,000 allowed by --max-expression-cost"},
		},
		"cost of all expressions": {
			`  status: {a: "${lists.range(500).map(x, x + 1).size()}", b: "${lists.range(501).map(x, x + 1).size()}", c: "${parent.metadata.name}"}`,
			program.Limits{ReconcileCost: 4000},
			[]string{"status.b: lists.range(501).map(x, x + 1).size(): with what the other expressions cost, it is more than the 4,000 allowed by --max-reconcile-cost"},
		},
		"children of one node": {
			configMaps,
			program.Limits{Children: 550},
			[]string{"first: forEach[0].in: makes 600 items, more than the 550 allowed by --max-children"},
		},
		"children of all nodes": {
			configMaps,
			program.Limits{Children: 1000},
			[]string{"second: : renders 500 children, which makes 1,100 with those of other nodes, more than the 1,000 allowed by --max-children"},
		},
		"children of a product": {
			`
  children:
  - id: a
    forEach: [{name: x, in: "${lists.range(100)}"}, {name: y, in: "${lists.range(x)}"}]
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "a-${x}-${y}"}}
`,
			program.Limits{Children: 4000},
			[]string{"a: forEach[1].in: makes 4,950 items, more than the 4,000 allowed by --max-children"},
		},
		"a long forEach": {
			configMaps,
			program.Limits{ListLength: 550},
			[]string{"first: forEach[0].in: gives 600 items, more than the 550 allowed by --max-list-length"},
		},
		"a long list": {
			`  status: {a: "${lists.range(30)}", b: ["${...lists.range(20)}", "${...lists.range(20)}"], c: "${lists.range(20)}", d: ["${...lists.range(21)}"]}`,
			program.Limits{ListLength: 20},
			[]string{
				"status.a: lists.range(30): gives 30 items, more than the 20 allowed by --max-list-length",
				"status.b: gives 40 items, more than the 20 allowed by --max-list-length",
				"status.d[0]: lists.range(21): gives 21 items, more than the 20 allowed by --max-list-length",
			},
		},
		"a large object": {
			`
  variables: [{name: text, value: "${lists.range(100).map(i, '0123456789').join()}"}]
  children:
  - id: small
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: "${variables.text}"}}
  - id: large
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: b}, data: {a: "${variables.text}", b: "${variables.text}"}}
  status: {a: "${variables.text}", b: "${variables.text}"}
`,
			program.Limits{ObjectBytes: 2000},
			[]string{
				"large: template: has 2,319 bytes, with the records of its fields that the API server keeps, more than the 2,000 allowed by --max-object-bytes",
				"status: has 2,052 bytes, with the records of its fields that the API server keeps, more than the 2,000 allowed by --max-object-bytes",
			},
		},
		"a large text": {
			`
  variables: [{name: text, value: "${lists.range(100).map(i, '0123456789').join()}"}]
  status: {a: "${variables.text}-${variables.text}"}
`,
			program.Limits{ObjectBytes: 2000},
			[]string{"status.a: is larger than the 2,000 bytes allowed by --max-object-bytes"},
		},
		"a value that holds another many times": {
			`
  variables:
  - {name: a, value: ["${parent.metadata.name}"]}
  - {name: b, value: ["${variables.a}", "${variables.a}", "${variables.a}", "${variables.a}", "${variables.a}"]}
  - {name: c, value: ["${variables.b}", "${variables.b}", "${variables.b}", "${variables.b}", "${variables.b}"]}
  - {name: d, value: ["${variables.c}", "${variables.c}", "${variables.c}", "${variables.c}", "${variables.c}"]}
  status: {a: "${variables.d}", b: "${variables.d}"}
`,
			program.Limits{ObjectBytes: 500},
			[]string{
				"status.b: is larger than the 500 bytes allowed by --max-object-bytes",
				"status: has 1,367 bytes, with the records of its fields that the API server keeps, more than the 500 allowed by --max-object-bytes",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := failures(t, compileWithin(t, test.body, test.limits), parse(t, webApp)[0])
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("what failed (-want +got):\n%s", diff)
			}
			if got := failures(t, compileWithin(t, test.body, program.Limits{}), parse(t, webApp)[0]); got != nil {
				t.Errorf("with the defaults: %q", got)
			}
		})
	}
}

// endless are expressions that would go on for hours, by what they spend it on.
func endless() map[string]string {
	return map[string]string{
		"loops":      `lists.range(90000).all(x, lists.range(90000).all(y, x + y >= 0))`,
		"no steps":   `lists.range(90000).filter(x, lists.range(90000).exists(y, y < 0)).size() > 0`,
		"regex":      `lists.range(90000).all(x, !parent.spec.text.matches("(x+x+)+y"))`,
		"find":       `lists.range(90000).all(x, parent.spec.text.findAll("a.b").size() >= 0)`,
		"sort":       `lists.range(90000).all(x, lists.range(40000).map(y, string(y)).sort().size() > x)`,
		"replace":    `lists.range(90000).all(x, parent.spec.text.replace("x", "yyyyyyyy").size() > 0)`,
		"join":       `lists.range(90000).all(x, lists.range(50000).map(y, "abcdefghij").join("-").size() > 0)`,
		"split":      `lists.range(90000).all(x, parent.spec.text.split("").size() > 0)`,
		"JSON":       `lists.range(90000).all(x, toJson(lists.range(50000)) != "")`,
		"search":     `lists.range(90000).all(x, parent.spec.text.indexOf("xxxxxxxxxxxxxxxxxxxxxxxxxy") < 0)`,
		"sets":       `lists.range(90000).all(x, sets.contains(lists.range(20000), lists.range(20000)))`,
		"comparison": `lists.range(90000).all(x, lists.range(90000) == lists.range(90000))`,
		"in":         `lists.range(90000).all(x, !("x" in parent.spec.list))`,
		"size":       `lists.range(90000).all(x, size(parent.spec.text) > 0)`,
	}
}

const shortDeadline = 20 * time.Millisecond

// compileEndless makes a rule of an endless expression, and a parent to try it on.
func compileEndless(tb testing.TB, expr string) (*program.Program, *unstructured.Unstructured) {
	tb.Helper()
	parent := parse(tb, webApp)[0]
	list := make([]any, 100_000)
	for i := range list {
		list[i] = fmt.Sprint(i)
	}
	parent.Object["spec"] = map[string]any{"text": strings.Repeat("x", 100_000), "list": list}
	return compileWithin(tb, "  status: {a: '${"+expr+"}'}", program.Limits{ExpressionCost: 1 << 50, ReconcileCost: 1 << 50, Deadline: shortDeadline}), parent
}

// An expression that would go on is ended, and the message names it and the option.
// How soon is for BenchmarkStop to say.
func TestStoppedAtDeadline(t *testing.T) {
	t.Parallel()
	for name, expr := range endless() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, parent := compileEndless(t, expr)
			got := failures(t, p, parent)
			want := "status.a: " + program.Shorten(expr) + ": was stopped, because the expressions took longer than the 20ms allowed by --max-evaluation-time"
			if len(got) != 1 || got[0] != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

// BenchmarkStop tells how long after its deadline an endless expression ends.
func BenchmarkStop(b *testing.B) {
	for name, expr := range endless() {
		b.Run(name, func(b *testing.B) {
			p, parent := compileEndless(b, expr)
			for b.Loop() {
				if got := failures(b, p, parent); len(got) != 1 {
					b.Fatal(got)
				}
			}
			late := b.Elapsed()/time.Duration(b.N) - shortDeadline
			b.ReportMetric(float64(late.Microseconds())/1000, "ms-late")
		})
	}
}

// What was stopped at its deadline may come out otherwise another time; nothing else
// that goes over a limit does.
func TestOutOfTime(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		limits program.Limits
		want   bool
	}{
		"within all limits": {},
		"too costly":        {limits: program.Limits{ReconcileCost: 10}},
		"too late":          {limits: program.Limits{Deadline: 1}, want: true},
	} {
		p := compileWithin(t, `  status: {a: "${parent.metadata.name.split('').map(x, x + x).size()}"}`, test.limits)
		ev := p.Evaluate(t.Context(), program.Input{Parent: parse(t, webApp)[0]})
		if ev.OutOfTime() {
			t.Errorf("%s: out of time before anything was evaluated", name)
		}
		if ev.Result(); ev.OutOfTime() != test.want {
			t.Errorf("%s: out of time: %t, want %t", name, ev.OutOfTime(), test.want)
		}
	}
}

// The time that is spent between the calls, as for writing objects, does not count.
func TestDeadlineIsOfOneCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // with a clock that only goes on by itself
		oneCallAtATime(t)
	})
}

func oneCallAtATime(t *testing.T) {
	t.Helper()
	p := compileWithin(t, `
  children:
  - id: a
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {n: "${string(lists.range(100).map(x, x).size())}"}}
  - id: b
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: b}, data: {n: "${children.a.data.n + string(lists.range(100).map(x, x).size())}"}}
`, program.Limits{Deadline: 300 * time.Millisecond})
	ev := p.Evaluate(t.Context(), program.Input{Parent: parse(t, webApp)[0]})
	for batch := ev.Next(); len(batch) > 0; batch = ev.Next() {
		<-time.After(time.Second)
		ev.Applied(batch[0].Node, batch[0].Objects)
	}
	for _, n := range ev.Result().Nodes {
		if n.State != program.StateApplied {
			t.Errorf("%+v", n)
		}
	}
}

// nobody is a cluster without objects.
type nobody struct{}

func (nobody) Lookup(program.Query) ([]*unstructured.Unstructured, error) { return nil, nil }

func (nobody) Observed(string) ([]*unstructured.Unstructured, error) { return nil, nil }

func (nobody) Live(*unstructured.Unstructured) (*unstructured.Unstructured, error) { return nil, nil }

func (nobody) Replaced(*unstructured.Unstructured) *unstructured.Unstructured { return nil }

func (nobody) Outdated(string, *unstructured.Unstructured, *unstructured.Unstructured) bool {
	return false
}

// crowd is a cluster that has as many objects as a lookup wants.
type crowd struct {
	nobody
	size int
}

func (c crowd) Lookup(program.Query) ([]*unstructured.Unstructured, error) {
	objects := make([]*unstructured.Unstructured, c.size)
	for i := range objects {
		objects[i] = &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": fmt.Sprint(i)}}}
	}
	return objects, nil
}

// Items that take little each are ended at the deadline too, and a lookup of many
// items when it has found too much.
func TestManyItems(t *testing.T) {
	t.Parallel()
	const deadline = 50 * time.Millisecond
	p := compileWithin(t, `
  lookups:
  - {id: slow, apiVersion: v1, kind: ConfigMap, name: "n${x}", optional: true, forEach: [{name: x, in: "${lists.range(1000)}"}]}
  - {id: large, apiVersion: v1, kind: ConfigMap, selector: {matchLabels: {x: "n${x}"}}, forEach: [{name: x, in: "${lists.range(1000)}"}]}
  children:
  - id: large
    forEach: [{name: x, in: "${lookups.large}"}]
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${x.metadata.name}"}}
  - id: slow
    forEach: [{name: x, in: "${lookups.slow}"}]
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${x.metadata.name}"}}
  - id: late
    forEach: [{name: x, in: [a, b]}]
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${x}"}}
`, program.Limits{Deadline: deadline})
	synctest.Test(t, func(t *testing.T) {
		asked := map[string]int{}
		ev := p.Evaluate(t.Context(), program.Input{Parent: parse(t, webApp)[0], Reader: slowCrowd{asked: asked}})
		for batch := ev.Next(); len(batch) > 0; batch = ev.Next() {
			t.Errorf("%s is rendered", batch[0].Node)
		}
		var got []string
		for _, n := range ev.Result().Nodes {
			got = append(got, n.Message)
		}
		const late = "was stopped, because its items took longer than the 50ms allowed by --max-evaluation-time"
		want := []string{"lookups.large gives 12,000 items, more than the 10,000 allowed by --max-list-length", "lookups.slow " + late, late}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(map[string]int{"slow": 51, "large": 3}, asked); diff != "" {
			t.Errorf("how often it was asked (-want +got):\n%s", diff)
		}
		if !ev.OutOfTime() {
			t.Error("it is not out of time")
		}
	})
}

// slowCrowd gives 4,000 objects for a selector at once, and none for a name after a
// while.
type slowCrowd struct {
	nobody
	asked map[string]int
}

func (c slowCrowd) Lookup(q program.Query) ([]*unstructured.Unstructured, error) {
	c.asked[q.Lookup]++
	if q.Name == "" {
		return crowd{size: 4000}.Lookup(q)
	}
	<-time.After(time.Millisecond)
	return nil, nil
}

func TestLookupLength(t *testing.T) {
	t.Parallel()
	p := compileWithin(t, `
  lookups:
  - {id: all, apiVersion: v1, kind: ConfigMap, selector: {}}
  - {id: twice, apiVersion: v1, kind: ConfigMap, selector: {matchLabels: {x: "${x}"}}, forEach: [{name: x, in: [a, b]}]}
  status: {all: "${lookups.all.size()}", twice: "${lookups.twice.size()}"}
`, program.Limits{ListLength: 30})
	for objects, want := range map[int][]program.Problem{
		10: nil,
		20: {{Verdict: program.Fails, Path: "status.twice", Message: "lookups.twice gives 40 items, more than the 30 allowed by --max-list-length"}},
		31: {
			{Verdict: program.Fails, Path: "status.all", Message: "lookups.all gives 31 items, more than the 30 allowed by --max-list-length"},
			{Verdict: program.Fails, Path: "status.twice", Message: "lookups.twice gives 31 items, more than the 30 allowed by --max-list-length"},
		},
	} {
		out := p.Evaluate(t.Context(), program.Input{Parent: parse(t, webApp)[0], Reader: crowd{size: objects}}).Result()
		if diff := cmp.Diff(want, out.StatusFailed); diff != "" {
			t.Errorf("%d objects (-want +got):\n%s", objects, diff)
		}
	}
}
