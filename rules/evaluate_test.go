package rules

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/rules/syntax"
)

// ruleFor is a rule for WebApps with the given lines below spec.
func ruleFor(spec string) string {
	return "apiVersion: kanon.dev/v1alpha1\nkind: Rule\nmetadata: {name: r}\nspec:\n" +
		"  parent: {apiVersion: shop.example.com/v1, kind: WebApp}\n" + spec
}

const webApp = `apiVersion: shop.example.com/v1
kind: WebApp
metadata: {name: shop, namespace: team-a, labels: {a: b}}
spec: {list: [{x: 1}], map: {k: {v: 1}}}
status: {kept: {deep: [1]}}
`

func TestRenderedSharesNoMemory(t *testing.T) {
	t.Parallel()
	p := mustCompile(t, ruleFor(`
  variables:
  - {name: all, value: "${parent.spec}"}
  - {name: tree, value: {spec: "${parent.spec}", constant: {a: [1]}}}
  - {name: merged, value: "${deepMerge(parent.spec, {'map': {'z': parent.spec.list}})}"}
  children:
  - id: a
    template: &t
      apiVersion: shop.example.com/v1
      kind: Note
      metadata: {name: a, labels: "${parent.metadata.labels}"}
      data: {list: "${parent.spec.list}", map: "${parent.spec.map}", all: "${variables.all}", tree: "${variables.tree}", merged: "${variables.merged}", flat: "${merge(parent.spec, {'x': parent.spec.map})}", constant: {a: [{b: c}]}}
  status:
    kept: ${parent.status.waits}
    list: ${parent.spec.list}
    child: ${children.a.data}
    constant: {a: [{b: c}]}
`))
	parent := parse(t, webApp)[0]
	before := parent.DeepCopy()
	evaluate := func() *unstructured.Unstructured {
		ev := p.Evaluate(t.Context(), program.Input{Parent: parent})
		batch := ev.Next()
		if len(batch) != 1 {
			t.Fatalf("got %d nodes", len(batch))
		}
		live := batch[0].Objects[0].DeepCopy()
		ev.Applied("a", []*unstructured.Unstructured{live})
		out := ev.Result()
		liveBefore := live.DeepCopy()
		spoil(out.Status)
		spoil(batch[0].Objects[0].Object)
		if diff := cmp.Diff(liveBefore, live); diff != "" {
			t.Errorf("the status shares memory with a child:\n%s", diff)
		}
		return live
	}
	first := evaluate()
	if diff := cmp.Diff(before, parent); diff != "" {
		t.Errorf("something shares memory with the parent:\n%s", diff)
	}
	second := evaluate()
	if diff := cmp.Diff(first, second); diff != "" {
		t.Errorf("something shares memory with the program:\n%s", diff)
	}
}

// spoil writes into every map and list.
func spoil(val any) {
	switch v := val.(type) {
	case map[string]any:
		for _, f := range v {
			spoil(f)
		}
		v["spoilt"] = true
	case []any:
		for i, item := range v {
			spoil(item)
			v[i] = "spoilt"
		}
	}
}

func TestConcurrentEvaluations(t *testing.T) {
	t.Parallel()
	files := map[string]string{}
	for _, name := range []string{"rule.yaml", "parent.yaml", "outcome"} {
		files[name] = caseFile(t, "provenance", name)
	}
	p := mustCompile(t, files["rule.yaml"])
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 20 {
				if got := evaluateText(t, p, files, readerOf(t, files)); got != files["outcome"] {
					t.Error(cmp.Diff(files["outcome"], got))
					return
				}
			}
		})
	}
	wg.Wait()
}

func TestApplied(t *testing.T) {
	t.Parallel()
	p := mustCompile(t, ruleFor(`
  children:
  - id: a
    forEach: [{name: x, in: "${[1, 2]}"}]
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "a-${x}"}}
  - id: b
    dependsOn: [a]
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: b}}
`))
	parent := parse(t, webApp)[0]
	for name, test := range map[string]struct {
		live func([]*unstructured.Unstructured) []*unstructured.Unstructured
		a, b program.State
	}{
		"all":      {func(o []*unstructured.Unstructured) []*unstructured.Unstructured { return o }, program.StateApplied, program.StateApplied},
		"too few":  {func(o []*unstructured.Unstructured) []*unstructured.Unstructured { return o[:1] }, program.StateNotApplied, program.StateWaiting},
		"none":     {func([]*unstructured.Unstructured) []*unstructured.Unstructured { return nil }, program.StateNotApplied, program.StateWaiting},
		"too many": {func(o []*unstructured.Unstructured) []*unstructured.Unstructured { return append(o, o...) }, program.StateApplied, program.StateApplied},
		"one is not": {func(o []*unstructured.Unstructured) []*unstructured.Unstructured {
			return []*unstructured.Unstructured{nil, o[1]}
		}, program.StateNotApplied, program.StateWaiting},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ev := p.Evaluate(t.Context(), program.Input{Parent: parent})
			ev.Applied("b", nil) // not given yet: nothing happens
			ev.Applied("unknown", nil)
			for batch := ev.Next(); len(batch) > 0; batch = ev.Next() {
				for _, r := range batch {
					ev.Applied(r.Node, test.live(r.Objects))
					ev.Applied(r.Node, nil) // a second time: nothing happens
				}
			}
			out := ev.Result()
			if out.Nodes[0].State != test.a || out.Nodes[1].State != test.b {
				t.Errorf("got %+v", out.Nodes)
			}
		})
	}
}

// TestResultInTheMiddle asks for the result while nodes are still out.
func TestResultInTheMiddle(t *testing.T) {
	t.Parallel()
	p := mustCompile(t, ruleFor(`
  children:
  - {id: a, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}}
  - {id: b, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: b}, data: "${children.a.data}"}}
`))
	ev := p.Evaluate(t.Context(), program.Input{Parent: parse(t, webApp)[0]})
	if batch := ev.Next(); len(batch) != 1 || batch[0].Node != "a" {
		t.Fatalf("got %+v", batch)
	}
	if batch := ev.Next(); len(batch) != 0 {
		t.Fatalf("a is given again, or b too early: %+v", batch)
	}
	out := ev.Result()
	for i, want := range []program.State{program.StateNotApplied, program.StateWaiting} {
		if got := out.Nodes[i]; got.State != want || !got.BlocksPrune || got.Ready {
			t.Errorf("got %+v, want %s", got, want)
		}
	}
}

func TestMatchesErrors(t *testing.T) {
	t.Parallel()
	parent := parse(t, webApp)[0]
	for when, isWaiting := range map[string]bool{"${parent.status.x}": true, "${parent.spec.x}": false, "${parent.spec.list}": false} {
		rule := strings.Replace(ruleFor(""), "kind: WebApp}", "kind: WebApp, when: \""+when+"\"}", 1)
		ok, err := mustCompile(t, rule).Evaluate(t.Context(), program.Input{Parent: parent}).Matches()
		if failed, known := errors.AsType[*program.MatchError](err); ok || !known || (failed.Verdict == program.Waits) != isWaiting {
			t.Errorf("%s: %t, %v", when, ok, err)
		}
	}
}

func TestDeadline(t *testing.T) {
	t.Parallel()
	p := mustCompile(t, ruleFor(`
  status:
    endless: ${lists.range(90000).all(x, lists.range(5).all(y, x + y >= parent.spec.list.size() - 1))}
    fine: 1
`))
	ctx, cancel := context.WithTimeout(t.Context(), time.Nanosecond)
	defer cancel()
	<-ctx.Done()
	out := p.Evaluate(ctx, program.Input{Parent: parse(t, webApp)[0]}).Result()
	if len(out.StatusFailed) != 1 || !strings.Contains(out.StatusFailed[0].Message, "ended before it was done") || out.Status["fine"] != int64(1) {
		t.Errorf("got %+v", out)
	}
}

func TestCostLimitOption(t *testing.T) {
	t.Parallel()
	docs, findings := syntax.Decode("f", []byte(ruleFor("  status: {a: \"${lists.range(500 * parent.spec.list.size()).map(x, x + 1).size()}\"}\n")))
	if findings.HasErrors() {
		t.Fatal(findings)
	}
	for limit, fails := range map[uint64]bool{0: false, 100: true, 10_000: false} {
		p, findings := Compile(docs.Rules[0], Options{Limits: program.Limits{ExpressionCost: limit}})
		if p == nil {
			t.Fatal(findings)
		}
		out := p.Evaluate(t.Context(), program.Input{Parent: parse(t, webApp)[0]}).Result()
		if (len(out.StatusFailed) > 0) != fails {
			t.Errorf("limit %d: %+v", limit, out)
		}
	}
}

func TestMaxItems(t *testing.T) {
	t.Parallel()
	docs, _ := syntax.Decode("f", []byte(ruleFor(`
  children:
  - id: a
    forEach: [{name: x, in: "${lists.range(10)}"}, {name: y, in: "${lists.range(10)}"}]
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "a-${x}-${y}"}}
`)))
	for limit, want := range map[int]program.State{0: program.StateNotApplied, 99: program.StateFailed, 100: program.StateNotApplied} {
		p, findings := Compile(docs.Rules[0], Options{Limits: program.Limits{Children: limit}})
		if p == nil {
			t.Fatal(findings)
		}
		ev := p.Evaluate(t.Context(), program.Input{Parent: parse(t, webApp)[0]})
		ev.Next()
		if got := ev.Result().Nodes[0]; got.State != want {
			t.Errorf("limit %d: %+v, want %s", limit, got, want)
		}
	}
}

func TestProgram(t *testing.T) {
	t.Parallel()
	docs, findings := syntax.Decode("f", []byte(`apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: r, namespace: n, labels: {a: b}, annotations: {c: "${d}"}}
spec:
  suspend: true
  conditionPrefix: Web
  parent:
    apiVersion: v1
    kind: Pod
    selector: {matchLabels: {a: b}, matchExpressions: [{key: c, operator: In, values: [d, e]}]}
    namespaceSelector: {}
    namespaces: [x, "y"]
  allowPrivileged: true
  children:
  - id: one
    forEach: [{name: i, in: [1]}]
    template: {apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: "a${i}"}}
  status: {message: "${parent.status.phase}"}
`))
	if len(docs.Rules) != 1 {
		t.Fatal(findings)
	}
	p, findings := Compile(docs.Rules[0], testKinds{}.options())
	if p == nil {
		t.Fatal(findings)
	}
	if p.Name != "r" || p.Namespace != "n" || !p.Suspend || p.ConditionPrefix != "Web" || p.Status == nil || !p.ReadsStatus {
		t.Errorf("got %+v", p)
	}
	parent := p.Parent
	if parent.GVK != (schema.GroupVersionKind{Version: "v1", Kind: "Pod"}) || !parent.Namespaced ||
		parent.Selector.String() != "a=b,c in (d,e)" || !parent.NamespaceSelector.Empty() || !cmp.Equal(parent.Namespaces, []string{"x", "y"}) {
		t.Errorf("got %+v", parent)
	}
	child := p.Children[0]
	if len(p.Children) != 1 || child.ID != "one" || child.GVK != (schema.GroupVersionKind{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRole"}) ||
		child.Position != (diagnostic.Position{File: "f", Line: 15, Column: 9}) || !child.IsList || child.Namespaced || !child.Read ||
		child.UpdatePolicy != syntax.UpdateApply || child.Ending != (program.Ending{WhenPruned: syntax.EndDelete, WhenDeleted: syntax.EndDelete}) {
		t.Errorf("got %+v", child)
	}
}

func TestHash(t *testing.T) {
	t.Parallel()
	hash := func(text string) string {
		docs, findings := syntax.Decode("f", []byte(text))
		if len(docs.Rules) != 1 {
			t.Fatal(findings)
		}
		return docs.Rules[0].Hash()
	}
	base := hash(ruleFor("  status: {a: 1, b: [x, \"y\"]}\n"))
	for text, same := range map[string]bool{
		"  # a comment\n  status:\n    b:\n    - x\n    - y\n    a: 1\n": true,
		"  status: {a: \"1\", b: [x, y]}\n":                              false,
		"  status: {a: 1, b: [y, x]}\n":                                  false,
		"  status: {a: 1, b: [xy]}\n":                                    false,
		"  status: {a: 1}\n":                                             false,
	} {
		if got := hash(ruleFor(text)); (got == base) != same {
			t.Errorf("%s: %s beside %s", text, got, base)
		}
	}
}

func TestDecodeCRD(t *testing.T) {
	t.Parallel()
	docs, findings := syntax.Decode("f", []byte("---\n"+`apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: webapps.shop.example.com}
spec: {group: shop.example.com, names: {kind: WebApp}, versions: [{name: v1, served: true, schema: {openAPIV3Schema: {description: "not ${evaluated}", maximum: 1.5, minimum: 1}}}]}
---
`+ruleFor("")))
	if len(findings) > 0 || len(docs.Rules) != 1 || len(docs.CRDs) != 1 {
		t.Fatalf("%v, %+v", findings, docs)
	}
	if crd := docs.CRDs[0]; crd.GetName() != "webapps.shop.example.com" || crd.DeepCopy() == nil {
		t.Errorf("got %v", crd)
	}
}

func TestMissingKinds(t *testing.T) {
	t.Parallel()
	_, findings := compileAll("rule.yaml", []byte(`apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: r}
spec:
  parent: {apiVersion: shop.example.com/v2, kind: WebApp}
  children:
  - id: a
    template: {apiVersion: apps/v1, kind: Deploymnt, metadata: {name: a}}
  - id: b
    template: {apiVersion: unknown.example.com/v1, kind: Thing, metadata: {name: b}}
  - id: c
    template: {apiVersion: apps/v1, kind: Deploymnt, metadata: {name: c}}
`), testKinds{}.options())
	deployment := schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deploymnt"}
	want := []schema.GroupVersionKind{
		{Group: "shop.example.com", Version: "v2", Kind: "WebApp"},
		deployment,
		{Group: "unknown.example.com", Version: "v1", Kind: "Thing"},
		deployment,
	}
	var got []schema.GroupVersionKind
	for _, f := range findings {
		if f.Missing != nil {
			got = append(got, *f.Missing)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	var asError *diagnostic.FindingsError
	if !errors.As(findings.Err(), &asError) || len(asError.Findings) != 4 || !strings.Contains(asError.Error(), "rule.yaml:5:24: error: ") {
		t.Errorf("got %v", findings.Err())
	}
	if (diagnostic.Findings{{Severity: diagnostic.SeverityWarning}}).Err() != nil {
		t.Error("warnings alone are no error")
	}
}

// A cleanup is not done while one of its objects could not be written, whatever until says: what is not created has not run.
func TestCleanupAwaitsItsWrites(t *testing.T) {
	t.Parallel()
	p := mustCompile(t, ruleFor(`
  children:
  - {id: config, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: config}}}
  finalize:
    children:
    - {id: last, readyWhen: "${true}", template: {apiVersion: v1, kind: ConfigMap, metadata: {name: last}}}
    until: ${children.config.metadata.name != ""}
`))
	for _, test := range []struct {
		name    string
		written bool
	}{{"written", true}, {"refused", false}} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			ev := p.Evaluate(t.Context(), program.Input{Parent: parse(t, webApp)[0], Finalizing: true})
			for batch := ev.Next(); len(batch) > 0; batch = ev.Next() {
				for _, r := range batch {
					live := r.Objects
					if r.Node == "last" && !test.written {
						live = []*unstructured.Unstructured{nil}
					}
					ev.Applied(r.Node, live)
				}
			}
			f := ev.Result().Finalization
			if f.Done != test.written || strings.Contains(f.Waits, "child last") == test.written {
				t.Errorf("the cleanup is done: %t, waits for %q", f.Done, f.Waits)
			}
		})
	}
}
