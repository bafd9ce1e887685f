package shortschema_test

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/kinds/definitions"
	"kanon.dev/kanon/kinds/openapi"
	"kanon.dev/kanon/rules/shortschema"
	"kanon.dev/kanon/rules/syntax"
)

// judged are the markers whose value the API server judges, and the short form does not: whether a default fits, what an expression costs.
// OpenAPI that is written as it is has the same.
var judged = []string{"default", "validation", "message", "openAPI"}

// TestPairs: what FuzzSchema holds, for each marker on each type, and on lists and maps of it.
func TestPairs(t *testing.T) {
	t.Parallel()
	taken := 0
	for _, typ := range shortschema.Types() {
		for _, of := range []string{typ.Name, "[]" + typ.Name, "map[string]" + typ.Name} {
			for _, m := range shortschema.Markers() {
				if checkFields(t, "f: '"+of+" | "+written(m)+"'") {
					taken++
				}
			}
		}
	}
	if taken < 700 {
		t.Errorf("%d pairs are taken", taken)
	}
}

// written is a marker with the value of its example.
func written(m shortschema.Marker) string {
	if m.Value == "" {
		return m.Name
	}
	return m.Name + "=" + m.Value
}

// FuzzSchema holds that the API server takes the definition of every schema that the short form takes, but for what only it can judge; and
// that whatever it refuses has a place in the rule.
func FuzzSchema(f *testing.F) {
	for _, t := range shortschema.Types() {
		f.Add("f: " + t.Name + "\ng: \"[]" + t.Name + "\"\nh: \"map[string]" + t.Name + "\"")
	}
	for _, typ := range []string{"string", "integer", "[]string", "map[string]Own", "[]Own", "object"} {
		for _, m := range shortschema.Markers() {
			f.Add("f: '" + typ + " | " + written(m) + "'")
		}
	}
	f.Add("a: {b: {c: string | required}}\nd: {e: integer | immutable}")
	f.Add("a: {openAPI: {type: array, items: {type: string}}}")
	f.Fuzz(func(t *testing.T, fields string) { checkFields(t, fields) })
}

// checkFields compares the short form of a spec with what the API server says of its definition. It is false if it is no short form.
func checkFields(t *testing.T, fields string) bool {
	t.Helper()
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
		return false
	}
	problems := definitions.Check(t.Context(), docs.CRDs[0])
	for _, p := range problems {
		found := docs.DefinitionFinding(0, syntax.DefinitionPlace{Path: p.Path, Name: p.Name, Offset: p.Offset}, p.Message)
		if found.Line < 8 {
			t.Errorf("%s: the finding is outside of the schema: %s", fields, found)
		}
		if !slices.ContainsFunc(judged, func(marker string) bool { return strings.Contains(fields, marker) }) {
			t.Errorf("the API server refuses %s: %s: %s", fields, strings.Join(p.Path, "."), p.Message)
		}
	}
	if len(problems) > 0 {
		return true
	}
	if _, err := definitions.NewKinds([]*unstructured.Unstructured{docs.CRDs[0]}); err != nil {
		t.Errorf("%s: %v", fields, err)
	}
	if _, err := openapi.FromCRD(docs.CRDs[0]); err != nil {
		t.Errorf("%s: %v", fields, err)
	}
	return true
}
