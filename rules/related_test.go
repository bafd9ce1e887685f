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
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
