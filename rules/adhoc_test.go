package rules_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"kanon.dev/kanon/rules"
	"kanon.dev/kanon/rules/syntax"
	"kanon.dev/kanon/rules/yamltree"
)

const adHocRule = `apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: r}
spec:
  parent: {apiVersion: shop.example.com/v1, kind: WebApp}
  variables: [{name: n, value: "${1}"}]
  children:
    - id: item
      forEach: [{name: port, in: "${parent.spec.ports}"}]
      variables: [{name: title, value: "${string(port)}"}]
      template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "x-${variables.title}"}}
`

// An expression in addition to a rule knows the names of the place that it is asked in, and its mistakes are its own: those of what was
// asked before are gone, and the positions are those in the text.
func TestAdHocCompiler(t *testing.T) {
	t.Parallel()
	docs, findings := syntax.Decode("rule.yaml", []byte(adHocRule))
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	compiler, findings := rules.NewAdHocCompiler(docs.Rules[0], rules.Options{})
	if compiler == nil {
		t.Fatal(findings)
	}
	for _, test := range []struct{ text, in, want string }{
		{"variables.n + 1", "", "an int"},
		{"port", "", `asked:1:1: error: unknown name "port"; known names: children, finalizing, lookups, now, observed, parent, variables [KN0204]`},
		{"port", "item", "a value of any type"},
		{"variables.title", "item", "a string"},
		{"variables.title", "", `asked:1:11: error: there is no variable called "title" [KN0207]`},
		{"self.metadata.name", "item", "a value of any type"},
		{"random(3)", "", "a string"},
		{"now", "", "a timestamp"},
		{"1 +\n  nobody", "", `asked:2:3: error: unknown name "nobody"; known names: children, finalizing, lookups, now, observed, parent, variables [KN0204]`},
		{"variables.n + 1", "item", "an int"},
	} {
		source, node := yamltree.NewText("asked", test.text)
		asked, findings := compiler.Compile(source, node, true, test.in)
		got := ""
		if asked != nil {
			got = asked.Type
		}
		for _, f := range findings {
			got += f.String()
		}
		if got != test.want {
			t.Errorf("%s in %q: %s, want %s", test.text, test.in, got, test.want)
		}
	}
	if diff := cmp.Diff([]string{"n", "title"}, compiler.Members("variables", "item")); diff != "" {
		t.Errorf("the variables of item (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"children", "finalizing", "lookups", "now", "observed", "parent", "port", "self", "variables"}, compiler.Names("item")); diff != "" {
		t.Errorf("the names of item (-want +got):\n%s", diff)
	}
}
