package shortschema_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/restmapping/definitions"
	"kanon.dev/kanon/restmapping/openapi"
	"kanon.dev/kanon/rules"
	"kanon.dev/kanon/rules/shortschema"
	"kanon.dev/kanon/rules/syntax"
)

// isJudged reports whether only the API server can find a problem, and the short form leaves it to it: what an expression that the author
// wrote says or costs, which fields a default may have, how names are written, how long a text may be, and all of OpenAPI that is written as it is.
func isJudged(p definitions.Problem, definition *unstructured.Unstructured, fields string) bool {
	if strings.Contains(fields, "openAPI") || strings.Contains(p.Message, "cost") {
		return true
	}
	if last := p.Path[len(p.Path)-1]; p.Path[0] == "metadata" || p.Path[1] == "names" || last == "name" || last == "deprecationWarning" {
		return true
	}
	at := slices.IndexFunc(p.Path, func(step string) bool { return step == "default" || step == "x-kubernetes-validations" })
	if at < 0 || p.Path[at] == "default" {
		return at >= 0
	}
	message, _ := valueAt(definition.Object, append(p.Path[:min(len(p.Path), at+2):at+2], "message")).(string)
	return !strings.Contains(message, "immutable") // which only Kanon writes here
}

// valueAt is what is at a path.
func valueAt(value any, path []string) any {
	for _, step := range path {
		switch of := value.(type) {
		case map[string]any:
			value = of[step]
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i >= len(of) {
				return nil
			}
			value = of[i]
		default:
			return nil
		}
	}
	return value
}

// TestPairs: what FuzzSchema holds, for each marker on each type, and on lists and maps of it. Those that are taken are
// checked together, because each check of a definition takes tens of milliseconds.
func TestPairs(t *testing.T) {
	t.Parallel()
	taken := 0
	for _, typ := range shortschema.Types() {
		var fields []string
		for _, of := range []string{typ.Name, "[]" + typ.Name, "map[string]" + typ.Name} {
			for _, m := range shortschema.Markers() {
				field := fmt.Sprintf("f%d: '%s | %s'", len(fields), of, written(m))
				if _, ok := decoded(ownTypes + field); ok {
					fields = append(fields, field)
				}
			}
		}
		taken += len(fields)
		checkFields(t, strings.Join(fields, "\n"))
	}
	if taken < 650 {
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

// ownTypes begins a schema with a type of its own.
const ownTypes = "types: {Own: {name: string | required, port: integer | required}}\nspec:\n  "

// decoded reads a schema. It is false if it is no short form.
func decoded(schema string) (syntax.Documents, bool) {
	docs, findings := syntax.Decode("rule.yaml", []byte(`apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: example}
spec:
  parent:
    apiVersion: example.com/v1
    kind: Thing
    schema:
      `+strings.ReplaceAll(schema, "\n", "\n      ")+"\n"))
	findings = append(findings, rules.Inference{Schemas: openapi.Builtin{}}.Infer(&docs)...)
	return docs, !findings.HasErrors() && len(docs.CRDs) == 1
}

// checkFields compares the short form of a spec with what the API server says of its definition.
func checkFields(t *testing.T, fields string) {
	t.Helper()
	schema := ownTypes + strings.ReplaceAll(fields, "\n", "\n  ")
	docs, ok := decoded(schema)
	if !ok {
		return
	}
	problems := definitions.Check(t.Context(), docs.CRDs[0])
	for _, p := range problems {
		found := docs.DefinitionFinding(0, syntax.DefinitionPlace{Path: p.Path, Name: p.Name, Offset: p.Offset}, p.Message)
		if found.Line < 8 {
			t.Errorf("%s: the finding is outside of the schema: %s", schema, found)
		}
		if !isJudged(p, docs.CRDs[0], schema) {
			t.Errorf("the API server refuses %s: %s: %s", schema, strings.Join(p.Path, "."), p.Message)
		}
	}
	if len(problems) > 0 {
		return
	}
	if _, err := definitions.NewKinds([]*unstructured.Unstructured{docs.CRDs[0]}); err != nil {
		t.Errorf("%s: %v", schema, err)
	}
	if _, err := openapi.FromCRD(docs.CRDs[0]); err != nil {
		t.Errorf("%s: %v", schema, err)
	}
}
