package rules

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"kanon.dev/kanon/rules/syntax"
)

// Findings of Rule objects name paths, and never a line of a text that nobody can see.
func TestFindingsOfObjects(t *testing.T) {
	t.Parallel()
	const head = `
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: r, namespace: kanon-system}
spec:
`
	tests := map[string]struct {
		spec string
		want []string
	}{
		"a field": {
			spec: "  parent: {apiVersion: v1, kind: ConfigMap}\n  child: []\n",
			want: []string{`rule/kanon-system/r: spec.child: error: unknown field "child" in spec; did you mean "children"? [KN0101]`},
		},
		"a kind that is missing in a list": {
			spec: "  parent: {apiVersion: v1, kind: ConfigMap}\n  children:\n" +
				"  - {id: a, template: {apiVersion: v1, kind: Secret, metadata: {name: a}}}\n" +
				"  - {id: b, template: {apiVersion: v1, kind: Secrte, metadata: {name: b}}}\n",
			want: []string{`rule/kanon-system/r: spec.children[1].template.kind: error: the cluster has no kind Secrte in v1; did you mean "Secret"? [KN0401]`},
		},
		"an expression": {
			spec: "  parent: {apiVersion: v1, kind: ConfigMap}\n  children:\n" +
				"  - {id: a, template: {apiVersion: v1, kind: Secret, metadata: {name: \"x-${parnt.metadata.name}\"}}}\n",
			want: []string{`rule/kanon-system/r: spec.children[0].template.metadata.name: error: unknown name "parnt"; did you mean "parent"? [KN0204]`},
		},
		"a line of a text": {
			spec: "  parent: {apiVersion: v1, kind: ConfigMap}\n  children:\n" +
				"  - id: a\n    template:\n      apiVersion: v1\n      kind: Secret\n      metadata: {name: a}\n" +
				"      stringData:\n        a.b: |\n          one\n          ${parnt.metadata.name}\n          three\n",
			want: []string{`rule/kanon-system/r: spec.children[0].template.stringData["a.b"], line 2: error: unknown name "parnt"; did you mean "parent"? [KN0204]`},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			docs, findings := syntax.DecodeObject("rule/kanon-system/r", []byte(head+tc.spec))
			for _, rule := range append(docs.Rules, docs.Partial...) {
				_, more := Compile(rule, Options{Kinds: testKinds{}})
				findings = append(findings, more...)
			}
			var got []string
			for _, f := range findings {
				got = append(got, f.String())
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
