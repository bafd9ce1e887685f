package shortschema_test

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/definitions"
	"kanon.dev/kanon/openapi"
	"kanon.dev/kanon/rules/shortschema"
	"kanon.dev/kanon/rules/syntax"
)

// judged are the markers whose value the API server judges, and the short form does not: whether a default fits, what an expression costs.
// OpenAPI that is written as it is has the same.
var judged = []string{"default", "validation", "message", "openAPI"}

// FuzzSchema holds that the API server takes the definition of every schema that the short form takes, but for what only it can judge; and
// that whatever it refuses has a place in the rule.
func FuzzSchema(f *testing.F) {
	for _, t := range shortschema.Types() {
		f.Add("f: " + t.Name)
		f.Add(`f: "[]` + t.Name + `"`)
		f.Add(`f: "map[string]` + t.Name + `"`)
		for _, m := range shortschema.Markers() {
			marker := m.Name
			if m.Value != "" {
				marker += "=" + m.Value
			}
			for _, typ := range []string{t.Name, "[]" + t.Name, "map[string]" + t.Name} {
				f.Add(fmt.Sprintf("f: '%s | %s'", typ, strings.ReplaceAll(marker, "'", "''")))
			}
		}
	}
	f.Add("a: {b: {c: string | required}}\nd: {e: integer | immutable}")
	f.Add("a: {openAPI: {type: array, items: {type: string}}}")
	f.Fuzz(func(t *testing.T, fields string) {
		text := `apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: example}
spec:
  parent:
    apiVersion: example.com/v1
    kind: Thing
    schema:
      types: {Own: {name: string | required, port: integer | required}}
      spec:
        ` + strings.ReplaceAll(fields, "\n", "\n        ") + "\n"
		docs, findings := syntax.Decode("rule.yaml", []byte(text))
		if findings.HasErrors() || len(docs.CRDs) != 1 {
			return
		}
		problems := definitions.Check(t.Context(), docs.CRDs[0])
		for _, p := range problems {
			found := docs.DefinitionFinding(0, syntax.DefinitionPlace{Path: p.Path, Name: p.Name, Offset: p.Offset}, p.Message)
			if found.Line < 8 {
				t.Errorf("the finding is outside of the schema: %s", found)
			}
			isJudged := false
			for _, marker := range judged {
				isJudged = isJudged || strings.Contains(fields, marker)
			}
			if !isJudged {
				t.Errorf("the API server refuses it: %s: %s", strings.Join(p.Path, "."), p.Message)
			}
		}
		if len(problems) > 0 {
			return
		}
		if _, err := definitions.NewKinds([]*unstructured.Unstructured{docs.CRDs[0]}); err != nil {
			t.Error(err)
		}
		if _, err := openapi.FromCRD(docs.CRDs[0]); err != nil {
			t.Error(err)
		}
	})
}
