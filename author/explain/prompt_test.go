package explain

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"golang.org/x/term"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/author/preview"
	"kanon.dev/kanon/rules"
	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/rules/syntax"
)

// Tab inserts the common prefix of all candidates, and lists them if the line has that already.
func TestTab(t *testing.T) {
	t.Parallel()
	docs, _ := syntax.Decode("rule", []byte("apiVersion: kanon.dev/v1alpha1\nkind: Rule\nmetadata: {name: r}\nspec: {parent: {apiVersion: v1, kind: Pod}}\n"))
	s, err := NewSession(SessionOptions{Rule: docs.Rules[0], Compile: rules.Options{}, Evaluate: func(p *program.Program) (*preview.Preview, error) {
		parent := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "p", "namespace": "n"}, "spec": map[string]any{"replicas": int64(1), "replicate": true},
		}}
		return preview.Evaluate(t.Context(), preview.Input{Program: p, Parent: parent})
	}})
	if err != nil {
		t.Fatal(err)
	}
	for line, test := range map[string]struct {
		pos           int
		want, listing string
	}{
		"parent.spec.re":     {14, "parent.spec.replica", ""},
		"parent.spec.re + 1": {14, "parent.spec.replica + 1", ""},
		"parent.spec.replica": {
			19, "parent.spec.replica", "replicas  replicate\r\n",
		},
		"pare":    {4, "parent", ""},
		"nothing": {7, "nothing", ""},
		"":        {0, "", "…\r\n"},
	} {
		var out bytes.Buffer
		terminal := term.NewTerminal(struct {
			io.Reader
			io.Writer
		}{strings.NewReader(""), &out}, "")
		got, pos, ok := (&Prompt{Session: s}).complete(terminal, line, test.pos)
		if got != test.want || !ok || pos != test.pos+len(test.want)-len(line) || !strings.HasSuffix(out.String(), test.listing) || test.listing == "" && out.Len() > 0 {
			t.Errorf("%q: %q at %d, and %q", line, got, pos, out.String())
		}
	}
}
