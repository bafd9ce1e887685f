package manifests

import (
	"path/filepath"
	"strings"
	"testing"

	"kanon.dev/kanon/engine"
	"kanon.dev/kanon/rules"
)

// TestExamplesAreInOrder holds that nothing is found in the examples, with
// nothing but what stands beside them.
func TestExamplesAreInOrder(t *testing.T) {
	t.Parallel()
	inputs, err := Read([]string{filepath.Join("..", "..", "examples")}, strings.NewReader(""))
	if err != nil {
		t.Fatal(err)
	}
	kinds, err := BuiltinKinds()
	if err != nil {
		t.Fatal(err)
	}
	c, err := Check(t.Context(), inputs, nil, kinds, rules.Options{Namespace: engine.DefaultNamespace})
	if err != nil {
		t.Fatal(err)
	}
	if c.Files < 3 || c.Rules < c.Files {
		t.Errorf("%d rules in %d files", c.Rules, c.Files)
	}
	for _, f := range c.Findings {
		t.Error(f)
	}
}

func TestSummary(t *testing.T) {
	t.Parallel()
	for want, text := range map[string]string{
		"1 rule in 1 file: nothing is wrong":   "  status: {message: a}\n",
		"1 rule in 1 file: 1 error":            "  statsu: {message: a}\n",
		"1 rule in 1 file: 2 errors":           "  statsu: {message: \"${b}\"}\n",
		"1 rule in 1 file: 1 error, 1 warning": "  statsu: {message: a}\n  children: [{id: a, template: {apiVersion: x.example.com/v1, kind: X, metadata: {name: a}}}]\n",
	} {
		kinds, err := BuiltinKinds()
		if err != nil {
			t.Fatal(err)
		}
		text = "apiVersion: kanon.dev/v1alpha1\nkind: Rule\nmetadata: {name: r}\nspec:\n  parent: {apiVersion: v1, kind: Pod}\n" + text
		c, err := Check(t.Context(), []File{{Name: "r.yaml", Data: []byte(text)}}, nil, kinds, rules.Options{Namespace: engine.DefaultNamespace})
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Summary(); got != want {
			t.Errorf("%s: %q", want, got)
		}
	}
}
