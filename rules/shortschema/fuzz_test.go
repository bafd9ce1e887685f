package shortschema_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/kinds/definitions"
	"kanon.dev/kanon/kinds/openapi"
	"kanon.dev/kanon/rules/shortschema"
	"kanon.dev/kanon/rules/syntax"
)

// isJudged reports whether only the API server can find a problem, and the short form leaves it to it: what an expression that the author
// wrote says or costs, which fields a default may have, and all of OpenAPI that is written as it is.
func isJudged(p definitions.Problem, definition *unstructured.Unstructured, fields string) bool {
	if strings.Contains(fields, "openAPI") || strings.Contains(p.Message, "cost") {
		return true
	}
	at := slices.IndexFunc(p.Path, func(step string) bool { return step == "default" || step == "x-kubernetes-validations" })
	if at < 0 || p.Path[at] == "default" {
		return at >= 0
	}
	rule, _ := valueAt(definition.Object, append(p.Path[:min(len(p.Path), at+2):at+2], "rule")).(string)
	return !strings.Contains(rule, "oldSelf") // which only Kanon writes here
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

// FuzzDrawnSchema holds the same for schemas that are drawn: own types, fields in fields, lists and maps of each other, and
// markers with values that fit or do not.
func FuzzDrawnSchema(f *testing.F) {
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // it draws tests
	for range 200 {
		seed := make([]byte, 60)
		for i := range seed {
			seed[i] = byte(random.UintN(256))
		}
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, choices []byte) {
		d := drawer{choices: choices}
		text, err := json.Marshal(d.schema())
		if err != nil {
			t.Fatal(err)
		}
		checkSchema(t, string(text))
	})
}

// drawer draws a schema by bytes.
type drawer struct {
	choices []byte
	// types are the own types that can be named.
	types []string
}

// choose takes the next choice of n.
func (d *drawer) choose(n int) int {
	if len(d.choices) == 0 {
		return 0
	}
	next := d.choices[0]
	d.choices = d.choices[1:]
	return int(next) % n
}

func (d *drawer) schema() map[string]any {
	types := map[string]any{}
	for i := range d.choose(4) {
		name, value := d.field(fmt.Sprintf("T%d", i), 2)
		types[name] = value
		d.types = append(d.types, fmt.Sprintf("T%d", i))
	}
	return map[string]any{"types": types, "spec": d.fields(0)}
}

// fields draws the fields of an object that is so deep.
func (d *drawer) fields(depth int) map[string]any {
	names := []string{"a", "b", "name", "kind", "a-b", "1x", "metadata", "apiVersion", "namespace"}
	fields := map[string]any{}
	for range d.choose(3) + 1 {
		name, value := d.field(names[d.choose(len(names))], depth)
		fields[name] = value
	}
	return fields
}

func (d *drawer) field(name string, depth int) (written string, value any) {
	switch d.choose(4) {
	case 0:
		if depth < 3 {
			return name + d.markers("objects"), d.fields(depth + 1)
		}
	case 1:
		if d.choose(8) == 0 {
			return name + d.markers("OpenAPI"), map[string]any{"openAPI": map[string]any{"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string"}}, "required": []any{"name"}}}
		}
	}
	typ, of := d.typ()
	return name, typ + d.markers(of)
}

// typ draws a type, and what markers say that they are for if they are for it; empty: it is not known.
func (d *drawer) typ() (typ, of string) {
	for range d.choose(3) {
		step := d.choose(2)
		typ += []string{"[]", "map[string]"}[step]
		if of == "" {
			of = []string{"lists", "maps"}[step]
		}
	}
	if n := len(d.types); n > 0 && d.choose(2) == 0 {
		return typ + d.types[d.choose(n)], of
	}
	all := shortschema.Types()
	name := all[d.choose(len(all))].Name
	if of != "" {
		return typ + name, of
	}
	switch name {
	case "integer", "int32", "int64", "number", "float":
		of = "numbers"
	case "boolean":
		of = "booleans"
	case "object":
		of = "objects"
	case "any":
		of = "any value"
	default:
		of = "text"
	}
	return typ + name, of
}

// markers draws markers, most of which are for a type.
func (d *drawer) markers(of string) string {
	values := []string{
		"", "1", "0", "-1", "1.5", "9999999999", "name", "a", "a,b", "name,name", "[]", "[1,2]", `["a"]`, "{}", `{"a": 1}`, "true", "false", "null", `""`, `"a b"`, "'a'",
		"int32", "date", "self", "2",
	}
	all := shortschema.Markers()
	if of != "" && d.choose(16) > 0 {
		all = slices.DeleteFunc(all, func(m shortschema.Marker) bool { return !slices.Contains(m.For(), of) && m.For()[0] != "all" })
	}
	var b strings.Builder
	for i := range d.choose(4) {
		if i == 0 {
			b.WriteString(" |")
		}
		m := all[d.choose(len(all))]
		switch value := values[d.choose(len(values))]; {
		case d.choose(4) > 0:
			b.WriteString(" " + written(m))
		default:
			b.WriteString(" " + m.Name + "=" + value)
		}
	}
	return b.String()
}

// checkFields compares the short form of a spec with what the API server says of its definition. It is false if it is no short form.
func checkFields(t *testing.T, fields string) bool {
	t.Helper()
	return checkSchema(t, "types: {Own: {name: string | required, port: integer | required}}\nspec:\n  "+strings.ReplaceAll(fields, "\n", "\n  "))
}

// checkSchema is checkFields for a whole schema.
func checkSchema(t *testing.T, schema string) bool {
	t.Helper()
	text := `apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: example}
spec:
  parent:
    apiVersion: example.com/v1
    kind: Thing
    schema:
      ` + strings.ReplaceAll(schema, "\n", "\n      ") + "\n"
	docs, findings := syntax.Decode("rule.yaml", []byte(text))
	if findings.HasErrors() || len(docs.CRDs) != 1 {
		return false
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
		return true
	}
	if _, err := definitions.NewKinds([]*unstructured.Unstructured{docs.CRDs[0]}); err != nil {
		t.Errorf("%s: %v", schema, err)
	}
	if _, err := openapi.FromCRD(docs.CRDs[0]); err != nil {
		t.Errorf("%s: %v", schema, err)
	}
	return true
}
