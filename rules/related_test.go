package rules

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A finding that follows from another part of the rule shows that part, too.
func TestRelated(t *testing.T) {
	t.Parallel()
	const rule = `apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: r}
spec:
  parent: {apiVersion: shop.example.com/v1, kind: WebApp}
  lookups:
  - {id: settings, when: "${parent.spec.a}", apiVersion: v1, kind: ConfigMap, name: settings}
  children:
  - {id: skipped, when: "${parent.spec.a}", template: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}}
  - {id: late, createWhen: "${parent.spec.a}", template: {apiVersion: v1, kind: ConfigMap, metadata: {name: b}}}
  - id: reads
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: c}
      data:
        skipped: ${children.skipped.metadata.name}
        late: ${children.late.metadata.name}
        lookup: ${lookups.settings.metadata.name}
  - {id: twin, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: c}}}
  - {id: one, dependsOn: [two], template: {apiVersion: v1, kind: ConfigMap, metadata: {name: d}}}
  - {id: two, dependsOn: [three], template: {apiVersion: v1, kind: ConfigMap, metadata: {name: e}}}
  - {id: three, dependsOn: [one], template: {apiVersion: v1, kind: ConfigMap, metadata: {name: f}}}
  - id: ignores
    ignore: [data.a, data.a, &b data.b, *b] # an alias is where its anchor is: there is no other place to show
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: g}}
`
	kinds := testKinds{}
	_, findings := compileAll("rule.yaml", []byte(rule), kinds.options())
	var got []string
	for _, f := range findings {
		for _, r := range f.Related {
			got = append(got, fmt.Sprintf("%d %s: %d:%d %s", f.Line, f.Code, r.Line, r.Column, r.Label))
			if !strings.Contains(r.Text, ":") {
				t.Errorf("%s: the line of %s is not known", f, r.Label)
			}
		}
	}
	want := []string{
		"17 KN0504: 9:25 the when is here",
		"18 KN0540: 10:28 the createWhen is here",
		"19 KN0506: 7:26 the when is here",
		"20 KN0410: 15:24 the first one",
		"21 KN0501: 22:10 which needs three",
		"21 KN0501: 23:10 which needs one",
		"25 KN0132: 25:14 the first one",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The same for mistakes that keep the rest of a rule from being compiled. What is shown of the other place is what the syntax has there.
func TestRelatedSpans(t *testing.T) {
	t.Parallel()
	const rule = `apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: r}
spec:
  parent: {apiVersion: shop.example.com/v1, kind: WebApp}
  variables:
  - {name: a, value: "${variables.b}"}
  - {name: b, value: "${variables.a}"}
  lookups:
  - {id: maybe, optional: true, apiVersion: v1, kind: ConfigMap, name: settings}
  children:
  - id: once
    updatePolicy: CreateOnly
    updateWhen: ${parent.spec.a}
    ignore: ["data.x", data]
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: d}, data: {past: "${lookups.maybe.data.x}"}}
  - {id: again, template: {apiVersion: shop.example.com/v1, kind: WebApp, metadata: {name: e}}}
  - id: others
    ignore: [data, data.x]
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: f}}
  patches:
  - id: self
    template: {spec: {"paused": "${!parent.spec.paused}"}}
  conditions:
  - {type: Lit, status: "${parent.spec.a}"}
  status:
    conditions: [{type: Lit, status: "True"}]
`
	const paired = `apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: r}
spec:
  parent: {apiVersion: shop.example.com/v1, kind: WebApp}
  children:
  - {id: single, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}}
  - {id: pair, forEach: {sameAs: single}, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: b}}}
  - {id: left, forEach: {sameAs: right}, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${each.right.metadata.name}-1"}}}
  - {id: right, forEach: {sameAs: left}, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${each.left.metadata.name}-2"}}}
`
	_, findings := compileAll("rule.yaml", []byte(rule), testKinds{}.options())
	_, pairs := compileAll("rule.yaml", []byte(paired), testKinds{}.options())
	var got []string
	for _, f := range append(findings, pairs...) {
		for _, r := range f.Related {
			got = append(got, fmt.Sprintf("%d %s: %d `%s` %s", f.Line, f.Code, r.Line, r.Text[r.Column-1:][:r.Length], r.Label))
		}
	}
	want := []string{
		"7 KN0503: 8 `b` which needs a",
		"14 KN0140: 13 `CreateOnly` the updatePolicy is here",
		"16 KN0507: 10 `maybe` the lookup is here",
		"17 KN0505: 5 `WebApp` the kind of the parent",
		"19 KN0132: 19 `data` the first one",
		"23 KN0763: 23 `\"paused\"` the patch writes it here",
		"27 KN0203: 25 `Lit` the other one",
		"8 KN0508: 7 `single` the child is here",
		"10 KN0509: 9 `right` left has the items of this one",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A finding about a part of a value underlines that part, and not the whole value.
func TestSpansOfParts(t *testing.T) {
	t.Parallel()
	const rule = `apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: r}
spec:
  parent: {apiVersion: shop.example.com/v1, kind: WebApp}
  lookups:
  - {id: both, apiVersion: v1, kind: ConfigMap, name: a, selector: {matchLabels: {a: b}}}
  children:
  - id: named
    when: sure ${parent.spec.a}
    ignore: ["data[].x"]
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${parent.metadata.name}_config", labels: {part: "of ${parent.metadata.name}"}}
      data: {a: "${[1, 2][5] == 1 ? 'a' : 'b'}", b: "${random(3)}", c: "${['a'].map('a')}"}
  - id: items
    forEach: [{name: i, in: "about ${[1, 2]}"}]
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: same}}
  - id: alike
    forEach: [{name: i, in: "${[1, 2]}"}]
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: alike}}
  - id: never
    when: ${parent.spec.size == 1 && parent.spec.size == 2}
    template:
      apiVersion: v1
      kind: Pod
      metadata: {name: a}
      spec: {containers: [{name: a, image: a, resources: {requests: {cpu: 2}, limits: {cpu: 1}}}]}
`
	_, findings := compileAll("rule.yaml", []byte(rule), testKinds{}.options())
	var got []string
	for _, f := range findings {
		got = append(got, fmt.Sprintf("%d %s `%s`", f.Line, f.Code, f.Text[f.Column-1:][:f.Length]))
		for _, r := range f.Related {
			got = append(got, fmt.Sprintf("  %d `%s` %s", r.Line, r.Text[r.Column-1:][:r.Length], r.Label))
		}
	}
	want := []string{
		"7 KN0211 `selector`",
		"  7 `name` the name is here",
		"10 KN0308 `sure`",
		"11 KN0130 `[]`",
		"15 KN0106 `_config`",
		"15 KN0423 `of`",
		"16 KN0309 `[5]`",
		"16 KN0209 `random`",
		"16 KN0304 `map`",
		"18 KN0308 `about`",
		"18 KN0306 `[1, 2]`",
		"22 KN0421 `alike`",
		"  21 `\"${[1, 2]}\"` the items are here",
		"24 KN0321 `==`",
		"  24 `==` the comparison before",
		"29 KN0426 `2`",
		"  29 `1` the limit is here",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
