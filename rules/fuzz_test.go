package rules

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/rules/syntax"
)

// seeds are the rules of testdata.
func seeds(f *testing.F) {
	f.Helper()
	for _, files := range casesIn(f) {
		f.Add([]byte(files["rule.yaml"]))
	}
}

// FuzzDecode holds that whatever is decoded ends, and that what is found stands
// within the source.
func FuzzDecode(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		docs, findings := syntax.Decode("f", data)
		mixed, more := syntax.DecodeManifest("f", data)
		findings = append(findings, more...)
		for _, r := range slices.Concat(docs.Partial, mixed.Partial) {
			p, more := Compile(r, testKinds{}.options())
			if p != nil {
				t.Errorf("a program of a rule that could not be read whole: %+v", r)
			}
			findings = append(findings, more...)
		}
		if err := (diagnostic.Printer{}).Print(io.Discard, findings); err != nil {
			t.Error(err)
		}
		lines := 1 + len(regexp.MustCompile("\r\n|[\n\r\u0085\u2028\u2029]").FindAllIndex(data, -1)) // as YAML counts them
		for _, finding := range findings {
			if finding.Line < 1 || finding.Line > lines+1 || finding.Column < 1 || finding.Column > utf8.RuneCountInString(finding.Text)+1 || finding.Message == "" {
				t.Errorf("%+v in %d lines", finding, lines)
			}
		}
		for _, r := range docs.Rules {
			if r.Name == "" || r.Parent.GVK.Kind == "" {
				t.Errorf("a rule without a name or a parent: %+v", r)
			}
		}
	})
}

// FuzzEvaluate holds that whatever compiles can be evaluated to an end, twice
// with the same result, without a change of the parent, and to plain JSON; and
// that the result is the same up to the second before it says that it changes.
func FuzzEvaluate(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		loose, findings := compileAll("f", data, Options{Limits: unhurried})
		typed, more := compileAll("f", data, testKinds{}.options())
		for _, finding := range append(findings, more...) {
			if finding.Message == "" {
				t.Errorf("%+v", finding)
			}
		}
		compareWithoutSchemas(t, typed, data)
		for _, p := range append(loose, typed...) {
			now := time.Date(2026, 3, 5, 6, 7, 8, 0, time.UTC)
			first, wake := evaluateJSON(t, p, now)
			later := now.AddDate(0, 5, 3)
			if !wake.IsZero() {
				later = wake.Add(-time.Second)
			}
			if p.Drifts || isComputed(p.RequeueAfter) || isComputed(p.MinInterval) {
				later = now // these may go with the clock
			}
			for _, at := range []time.Time{now, later} {
				if second, _ := evaluateJSON(t, p, at); first != second {
					t.Errorf("evaluations differ at %v and %v:\n%s\n%s", now, at, first, second)
				}
			}
		}
	})
}

// compareWithoutSchemas holds that what a rule comes to does not depend on whether
// schemas were known when it was compiled, but for the differences that docs/reference/expressions.md
// names: texts that schemas say are times, and what is divided or added as a number.
func compareWithoutSchemas(t *testing.T, typed []*program.Program, data []byte) {
	t.Helper()
	if !slices.ContainsFunc(typed, func(p *program.Program) bool { return !p.Meant }) {
		return
	}
	options := testKinds{}.options()
	options.Schemas = nil
	untyped, _ := compileAll("f", data, options)
	now := time.Date(2026, 3, 5, 6, 7, 8, 0, time.UTC)
	for _, with := range typed {
		if with.Meant {
			continue // written down: see TestWithAndWithoutSchema
		}
		for _, without := range untyped {
			if with.Hash != without.Hash || with.Name != without.Name {
				continue
			}
			a, _ := evaluateJSON(t, with, now)
			if b, _ := evaluateJSON(t, without, now); a != b {
				t.Errorf("with and without schemas:\n%s\n%s", a, b)
			}
			break
		}
	}
}

// The differences that there are between a rule that was compiled with the schemas of
// the kinds that it reads and one that was compiled without: docs/reference/expressions.md lists them.
func TestWithAndWithoutSchema(t *testing.T) {
	t.Parallel()
	const crd = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: teams.shop.example.com}
spec:
  group: shop.example.com
  scope: Namespaced
  names: {kind: Team, plural: teams}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            required: [ratio, time, pause, data]
            properties:
              ratio: {type: number}
              time: {type: string, format: date-time}
              pause: {type: string, format: duration}
              data: {type: string, format: byte}
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
`
	parent := parse(t, `{apiVersion: shop.example.com/v1, kind: Team, metadata: {name: a, namespace: b},
  spec: {ratio: 3, time: "2026-01-31T12:00:00Z", pause: 90s, data: YWJj}}`)[0]
	kinds := testKinds{}
	kinds.define(t, crd)
	for expr, want := range map[string]struct{ with, without any }{
		"parent.spec.ratio / 2":                      {1.5, int64(1)},
		"parent.spec.ratio * 1.5":                    {4.5, 4.5},
		"parent.spec.time":                           {"2026-01-31T12:00:00Z", "2026-01-31T12:00:00Z"},
		"parent.spec.time.getHours()":                {int64(12), nil},
		"parent.spec.time + duration('1h')":          {"2026-01-31T13:00:00Z", nil},
		"parent.spec.pause.getSeconds()":             {int64(90), nil},
		"parent.spec.time == '2026-01-31T12:00:00Z'": {nil, true},
		"parent.spec.data":                           {"YWJj", "YWJj"},
		"merge({'a': parent.spec.data}, {}).a":       {"YWJj", "YWJj"},
		"string(parent.spec.data)":                   {"abc", "YWJj"},
		"string(base64.decode(parent.spec.data))":    {nil, "abc"},
		"parent.spec.data.size()":                    {int64(3), int64(4)},
	} {
		text := strings.Replace(ruleFor("  status: {a: \"${"+expr+"}\"}\n"), "kind: WebApp", "kind: Team", 1)
		for name, options := range map[string]Options{"with": kinds.options(), "without": {Limits: unhurried}} {
			wanted := want.with
			if name == "without" {
				wanted = want.without
			}
			var got any
			if programs, _ := compileAll("f", []byte(text), options); len(programs) == 1 {
				got = programs[0].Evaluate(t.Context(), program.Input{Parent: parent}).Result().Status["a"]
			}
			if got != wanted {
				t.Errorf("%s, %s schema: got %v, want %v", expr, name, got, wanted)
			}
		}
	}
}

const fuzzParent = `{"apiVersion": "shop.example.com/v1", "kind": "WebApp",
	"metadata": {"name": "shop", "namespace": "team-a", "labels": {"b": "2", "a": "1"}},
	"spec": {"replicas": 2, "image": "nginx", "ports": [80, 443], "flag": true, "ratio": 1.5, "text": "${x}", "labels": {"b": "2", "a": "1"}},
	"status": {"phase": "Ready"}}`

// fuzzReader is a cluster that has something for every other lookup and node.
type fuzzReader struct{ nobody }

// Lookup implements Reader.
func (fuzzReader) Lookup(q program.Query) ([]*unstructured.Unstructured, error) {
	var found []*unstructured.Unstructured
	names := []string{q.Name}
	if q.Name == "" {
		names = []string{"b", "a", "c"}
	}
	for _, name := range names {
		switch len(name) % 5 {
		case 3:
			continue
		case 4:
			return nil, errors.New("the objects are still being listed")
		}
		found = append(found, fuzzObject(q.GVK.GroupVersion().String(), q.GVK.Kind, q.Namespace, name))
	}
	return found, nil
}

// Observed implements Reader.
func (fuzzReader) Observed(node string) ([]*unstructured.Unstructured, error) {
	switch len(node) % 4 {
	case 0, 2:
		return nil, nil
	case 3:
		return nil, errors.New("the objects are still being listed")
	}
	return []*unstructured.Unstructured{fuzzObject("v1", "ConfigMap", "team-a", "b"), fuzzObject("v1", "ConfigMap", "team-a", "a")}, nil
}

// Live implements Reader.
func (fuzzReader) Live(rendered *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	switch len(rendered.GetName()) % 3 {
	case 0:
		return nil, nil
	case 1:
		return nil, errors.New("the objects are still being listed")
	}
	return fuzzObject(rendered.GetAPIVersion(), rendered.GetKind(), rendered.GetNamespace(), rendered.GetName()), nil
}

func fuzzObject(apiVersion, kind, namespace, name string) *unstructured.Unstructured {
	data := map[string]any{"x": "1", "next": name + "x", "text": "${parent.metadata.name}", "list": "a,b"}
	if kind == "Secret" {
		for key, text := range data {
			data[key] = base64.StdEncoding.EncodeToString([]byte(text.(string)))
		}
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": apiVersion, "kind": kind,
		"metadata": map[string]any{"name": name, "namespace": namespace, "labels": map[string]any{"a": name}},
		"data":     data, "binaryData": map[string]any{"x": "AAEC"},
		"status": map[string]any{"replicas": int64(2)},
	}}
}

func evaluateJSON(t *testing.T, p *program.Program, now time.Time) (string, time.Time) {
	t.Helper()
	parent := &unstructured.Unstructured{}
	if err := parent.UnmarshalJSON([]byte(fuzzParent)); err != nil {
		t.Fatal(err)
	}
	before, err := json.Marshal(parent.Object)
	if err != nil {
		t.Fatal(err)
	}
	ev := p.Evaluate(t.Context(), program.Input{Parent: parent, Now: now, Reader: fuzzReader{}})
	var all []any
	for batch := ev.Next(); len(batch) > 0; batch = ev.Next() {
		for _, r := range batch {
			for _, o := range r.Objects {
				all = append(all, o.DeepCopy().Object) // DeepCopy panics unless it is plain JSON
				if o.GetName() == "" || o.GetKind() == "" {
					t.Errorf("an object without a name: %v", o)
				}
			}
			ev.Applied(r.Node, r.Objects)
		}
	}
	out := ev.Result()
	for _, n := range out.Nodes {
		if n.State != program.StateApplied && n.State != program.StateSkipped && n.Message == "" {
			t.Errorf("no message: %+v", n)
		}
	}
	after, err := json.Marshal(parent.Object)
	if err != nil || string(after) != string(before) {
		t.Errorf("the parent was changed (%v):\n%s\n%s", err, before, after)
	}
	text, err := json.Marshal([]any{all, out})
	if err != nil {
		t.Fatal(err)
	}
	return string(text), out.ReevaluateAt
}

func isComputed(d *program.Duration) bool { return d != nil && d.Value != nil }
