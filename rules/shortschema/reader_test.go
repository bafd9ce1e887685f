package shortschema_test

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"kanon.dev/kanon/restmapping/definitions"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/shortschema"
	"kanon.dev/kanon/rules/yamltree"
)

// read makes the schema of the field spec of a text, which may have types beside it.
func read(t *testing.T, text string) (schema map[string]any, findings string) {
	t.Helper()
	src := yamltree.New("rule.yaml", []byte(text))
	var list diagnostic.List
	nodes, finding := src.Parse(src.Documents()[0])
	if finding != nil {
		t.Fatal(finding)
	}
	root := src.Build(nodes[0], &list)
	r := shortschema.NewReader(src, root.Get("types"), list.Report)
	r.CheckTypes()
	schema = r.Object(root.Get("spec"), "spec")
	for _, f := range list.Findings(src) {
		findings += f.String() + "\n"
	}
	return schema, findings
}

// definition is a CustomResourceDefinition with a schema for spec.
func definition(spec map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": "things.example.com"},
		"spec": map[string]any{
			"group": "example.com", "scope": "Namespaced",
			"names": map[string]any{"kind": "Thing", "plural": "things", "singular": "thing", "listKind": "ThingList"},
			"versions": []any{map[string]any{
				"name": "v1", "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "properties": map[string]any{"spec": spec}}},
			}},
		},
	}}
}

// form is a short form and what it stands for.
type form struct {
	text string
	// want is the schema of field f, in YAML; empty: it does not matter.
	want string
	// good and bad are values of f; empty: there is none, and absent: f is left out.
	good, bad string
	// becomes is what the API server makes of the good value; empty: it stays as it is.
	becomes string
}

// absent stands for a field that is left out.
const absent = "(absent)"

// forms has a case for each type and each marker.
func forms() map[string]form {
	return map[string]form{
		"string":                    {"f: string", "{type: string}", "a", "1", ""},
		"integer":                   {"f: integer", "{type: integer}", "1", "1.5", ""},
		"int32":                     {"f: int32", "{type: integer, format: int32}", "1", "3000000000", ""},
		"int64":                     {"f: int64", "{type: integer, format: int64}", "3000000000", "a", ""},
		"number":                    {"f: number", "{type: number}", "1.5", "a", ""},
		"float":                     {"f: float", "{type: number}", "1.5", "a", ""},
		"boolean":                   {"f: boolean", "{type: boolean}", "true", "\"true\"", ""},
		"object":                    {"f: object", "{type: object, x-kubernetes-preserve-unknown-fields: true}", "{a: {b: 1}}", "a", "{a: {b: 1}}"},
		"any":                       {"f: any", "{x-kubernetes-preserve-unknown-fields: true}", "[1, {a: b}]", "", "[1, {a: b}]"},
		"quantity":                  {"f: quantity", "", "500m", "5 apples", ""},
		"quantity, a number":        {"f: quantity", "", "5", "true", ""},
		"int-or-string":             {"f: int-or-string", "{x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}]}", "25%", "true", ""},
		"date-time":                 {"f: date-time", "{type: string, format: date-time}", "\"2026-03-05T06:07:08Z\"", "soon", ""},
		"date":                      {"f: date", "{type: string, format: date}", "\"2026-03-05\"", "soon", ""},
		"duration":                  {"f: duration", "{type: string, format: duration}", "1h30m", "soon", ""},
		"bytes":                     {"f: bytes", "{type: string, format: byte}", "aGVsbG8=", "hello!", ""},
		"uri":                       {"f: uri", "{type: string, format: uri}", "https://example.com/", "not a uri", ""},
		"email":                     {"f: email", "{type: string, format: email}", "a@example.com", "a", ""},
		"hostname":                  {"f: hostname", "{type: string, format: hostname}", "example.com", "-a-", ""},
		"ipv4":                      {"f: ipv4", "{type: string, format: ipv4}", "10.0.0.1", "10.0.0", ""},
		"ipv6":                      {"f: ipv6", "{type: string, format: ipv6}", "\"::1\"", "10.0.0.1", ""},
		"cidr":                      {"f: cidr", "{type: string, format: cidr}", "10.0.0.0/8", "10.0.0.0", ""},
		"uuid":                      {"f: uuid", "{type: string, format: uuid}", "123e4567-e89b-12d3-a456-426614174000", "a", ""},
		"password":                  {"f: password", "{type: string, format: password}", "a", "1", ""},
		"a list":                    {`f: "[]string"`, "{type: array, items: {type: string}}", "[a]", "[1]", ""},
		"a list of lists":           {`f: "[][]integer"`, "{type: array, items: {type: array, items: {type: integer}}}", "[[1]]", "[1]", ""},
		"a map":                     {`f: "map[string]integer"`, "{type: object, additionalProperties: {type: integer}}", "{a: 1}", "{a: b}", ""},
		"a map of lists":            {`f: "map[string][]string"`, "{type: object, additionalProperties: {type: array, items: {type: string}}}", "{a: [b]}", "{a: b}", ""},
		"a list of maps":            {`f: "[]map[string]string"`, "{type: array, items: {type: object, additionalProperties: {type: string}}}", "[{a: b}]", "[a]", ""},
		"fields":                    {"f: {a: string, b: {c: integer}}", "{type: object, properties: {a: {type: string}, b: {type: object, properties: {c: {type: integer}}}}}", "{a: x, b: {c: 1}}", "{b: {c: x}}", ""},
		"an own type":               {"f: Port\ntypes: {Port: {name: string | required}}", "{type: object, properties: {name: {type: string}}, required: [name]}", "{name: a}", "{}", ""},
		"an own text":               {"f: \"[]Name\"\ntypes: {Name: string | minLength=2 required}", "{type: array, items: {type: string, minLength: 2}}", "[ab]", "[a]", ""},
		"types of types":            {"f: A\ntypes: {A: {b: B}, B: {c: string}}", "{type: object, properties: {b: {type: object, properties: {c: {type: string}}}}}", "{b: {c: x}}", "{b: {c: 1}}", ""},
		"a required type":           {"f: Name\ntypes: {Name: string | required}", "{type: string}", "a", "(absent)", ""},
		"a required type, optional": {"f: Name | required=false\ntypes: {Name: string | required}", "{type: string}", "(absent)", "1", ""},
		"openAPI":                   {"f: {openAPI: {type: string, maxLength: 2}}", "{type: string, maxLength: 2}", "ab", "abc", ""},
		"a field openAPI":           {"f: {openAPI: string}", "{type: object, properties: {openAPI: {type: string}}}", "{openAPI: a}", "{openAPI: 1}", ""},
		"required":                  {"f: string | required", "{type: string}", "a", "(absent)", ""},
		"required=true":             {"f: {a: string | required=true}", "{type: object, properties: {a: {type: string}}, required: [a]}", "{a: b}", "{}", ""},
		"required=false":            {"f: {a: string | required=false}", "{type: object, properties: {a: {type: string}}}", "{}", "", ""},
		"default":                   {"f: integer | default=1", "{type: integer, default: 1}", "(absent)", "a", "1"},
		"default text":              {"f: string | default=web", "{type: string, default: web}", "(absent)", "1", "web"},
		"default of digits":         {"f: string | default=1", "{type: string, default: '1'}", "(absent)", "1", `"1"`},
		"default in quotes":         {`f: 'string | default="a b"'`, "{type: string, default: a b}", "", "", ""},
		"default boolean":           {"f: boolean | default=false", "{type: boolean, default: false}", "(absent)", "1", "false"},
		"default list":              {`f: '[]string | default=["a", "b c"]'`, "{type: array, items: {type: string}, default: [a, b c]}", "(absent)", "a", "[a, b c]"},
		"default map":               {`f: 'map[string]string | default={"a": "b"}'`, "{type: object, additionalProperties: {type: string}, default: {a: b}}", "(absent)", "a", "{a: b}"},
		"default port":              {"f: int-or-string | default=80", "", "(absent)", "true", "80"},
		"description":               {`f: 'string | description="a \"b\" \\ | c=d"'`, `{type: string, description: 'a "b" \ | c=d'}`, "a", "1", ""},
		"a comment":                 {"# how many\n  # there are\n  f: integer", "{type: integer, description: how many there are}", "1", "a", ""},
		"a comment behind":          {"f: integer # how many", "{type: integer, description: how many}", "", "", ""},
		"description first":         {"f: integer | description=one # how many", "{type: integer, description: one}", "", "", ""},
		"title":                     {"f: integer | title=Replicas", "{type: integer, title: Replicas}", "1", "a", ""},
		"example":                   {"f: integer | example=3", "{type: integer, example: 3}", "1", "a", ""},
		"enum":                      {`f: string | enum="web, worker" default="web"`, "{type: string, enum: [web, worker], default: web}", "web", "db", ""},
		"enum of numbers":           {"f: integer | enum=1,2", "{type: integer, enum: [1, 2]}", "1", "3", ""},
		"enum of numbers as a list": {"f: 'number | enum=[1, 2.5]'", "{type: number, enum: [1, 2.5]}", "2.5", "2", ""},
		"enum of ports":             {`f: 'int-or-string | enum=[80, "http"]'`, "{x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}], enum: [80, http]}", "80", "81", ""},
		"enum of ports, by commas":  {`f: int-or-string | enum="80,http" default=80`, "{x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}], enum: [80, http], default: 80}", "80", "81", ""},
		"enum as a list":            {`f: 'string | enum=["a,b", "c"]'`, "{type: string, enum: ['a,b', c]}", "'a,b'", "a", ""},
		"pattern":                   {`f: string | pattern="^[a-z]"`, "{type: string, pattern: '^[a-z]'}", "a", "A", ""},
		"pattern, escaped":          {`f: 'string | pattern="^\\w+\\.a$"'`, `{type: string, pattern: '^\w+\.a$'}`, "x.a", "xa", ""},
		"format":                    {"f: string | format=mac", "{type: string, format: mac}", "\"00:00:5e:00:53:01\"", "a", ""},
		"minLength":                 {"f: string | minLength=2", "{type: string, minLength: 2}", "ab", "a", ""},
		"maxLength":                 {"f: string | maxLength=2", "{type: string, maxLength: 2}", "ab", "abc", ""},
		"lengths":                   {"f: string | minLength=1 maxLength=2", "{type: string, minLength: 1, maxLength: 2}", "a", "abc", ""},
		"minimum":                   {"f: integer | minimum=1", "{type: integer, minimum: 1}", "1", "0", ""},
		"maximum":                   {"f: integer | maximum=5", "{type: integer, maximum: 5}", "5", "6", ""},
		"bounds":                    {"f: integer | minimum=1 maximum=5", "{type: integer, minimum: 1, maximum: 5}", "1", "6", ""},
		"bounds of fractions":       {"f: float | minimum=0.01 maximum=999.99", "{type: number, minimum: 0.01, maximum: 999.99}", "0.5", "0.001", ""},
		"exclusiveMinimum":          {"f: integer | minimum=0 exclusiveMinimum", "{type: integer, minimum: 0, exclusiveMinimum: true}", "1", "0", ""},
		"exclusiveMaximum":          {"f: number | exclusiveMaximum maximum=5", "{type: number, maximum: 5, exclusiveMaximum: true}", "4.9", "5", ""},
		"multipleOf":                {"f: integer | multipleOf=5", "{type: integer, multipleOf: 5}", "10", "11", ""},
		"multipleOf for fractions":  {`f: 'number | validation="double(int(self / 0.5)) == self / 0.5"'`, "", "2.5", "0.7", ""},
		"multiples of 2":            {"f: number | multipleOf=2", "{type: number, multipleOf: 2}", "4", "4.5", ""},
		"the bounds of 32 bits":     {"f: int32 | minimum=-2147483648 maximum=2147483647", "{type: integer, format: int32, minimum: -2147483648, maximum: 2147483647}", "2147483647", "2147483648", ""},
		"minItems":                  {`f: "[]string | minItems=1"`, "{type: array, items: {type: string}, minItems: 1}", "[a]", "[]", ""},
		"maxItems":                  {`f: "[]string | maxItems=1"`, "{type: array, items: {type: string}, maxItems: 1}", "[a]", "[a, b]", ""},
		"items":                     {`f: "[]string | minItems=1 maxItems=2"`, "{type: array, items: {type: string}, minItems: 1, maxItems: 2}", "[a]", "[a, b, c]", ""},
		"uniqueItems":               {`f: "[]string | uniqueItems=true"`, "{type: array, items: {type: string}, x-kubernetes-list-type: set}", "[a, b]", "[a, a]", ""},
		"uniqueBy":                  {"f: \"[]Port | uniqueBy=name\"\ntypes: {Port: {name: string | required}}", "{type: array, items: {type: object, properties: {name: {type: string}}, required: [name]}, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name]}", "[{name: a}, {name: b}]", "[{name: a}, {name: a}]", ""},
		"uniqueBy two":              {"f: \"[]Port | uniqueBy=port,protocol\"\ntypes: {Port: {port: integer | required, protocol: string | default=TCP}}", "", "[{port: 1, protocol: a}, {port: 1, protocol: b}]", "[{port: 1, protocol: a}, {port: 1, protocol: a}]", ""},
		"atomic":                    {`f: "[]string | atomic"`, "{type: array, items: {type: string}, x-kubernetes-list-type: atomic}", "[a]", "", ""},
		"atomic map":                {`f: "map[string]string | atomic"`, "{type: object, additionalProperties: {type: string}, x-kubernetes-map-type: atomic}", "{a: b}", "", ""},
		"minProperties":             {`f: "map[string]string | minProperties=1"`, "{type: object, additionalProperties: {type: string}, minProperties: 1}", "{a: b}", "{}", ""},
		"maxProperties":             {`f: "map[string]string | maxProperties=1"`, "{type: object, additionalProperties: {type: string}, maxProperties: 1}", "{a: b}", "{a: b, c: d}", ""},
		"nullable":                  {"f: string | nullable", "{type: string, nullable: true}", "null", "1", "null"},
		"not nullable":              {"f: '[]string'", "{type: array, items: {type: string}}", "[a]", "[null]", ""},
		"immutable":                 {"f: string | immutable", "{type: string, x-kubernetes-validations: [{rule: self == oldSelf, message: f is immutable}]}", "a", "", ""},
		"validation":                {`f: 'string | maxLength=9 validation="self.size() > 2" message="too short"'`, "{type: string, maxLength: 9, x-kubernetes-validations: [{rule: self.size() > 2, message: too short}]}", "abc", "ab", ""},
		"preserve":                  {"f: object | preserveUnknownFields", "{type: object, x-kubernetes-preserve-unknown-fields: true}", "{a: b}", "a", "{a: b}"},
		"preserve with fields":      {"f | preserveUnknownFields: {a: integer}", "{type: object, x-kubernetes-preserve-unknown-fields: true, properties: {a: {type: integer}}}", "{a: 1, b: x}", "{a: x}", "{a: 1, b: x}"},
		"no other fields":           {"f: {a: integer}", "{type: object, properties: {a: {type: integer}}}", "{a: 1}", "{a: 1, b: x}", ""},
		"embedded":                  {"f: object | embeddedResource", "{type: object, x-kubernetes-preserve-unknown-fields: true, x-kubernetes-embedded-resource: true}", "{apiVersion: v1, kind: Pod, metadata: {name: a}}", "{kind: Pod}", ""},
		"embedded with fields":      {"f | embeddedResource: {kind: string, spec: object}", "", "{apiVersion: v1, kind: Pod, spec: {a: b}}", "{apiVersion: v1, kind: Pod, more: x}", ""},
		"printColumn":               {`f: string | printColumn="F"`, "{type: string}", "a", "", ""},
		"a mapping's markers":       {`f | minProperties=1 description="what": {a: string, b: string}`, "{type: object, minProperties: 1, description: what, properties: {a: {type: string}, b: {type: string}}}", "{a: x}", "{}", ""},
		"a field called type":       {"f: {type: string, format: string, default: {a: string}, properties: {a: string}, items: '[]string', pattern: string | maxLength=9}", "", "{type: a, default: {a: b}, items: [a]}", "{type: 1}", ""},
		"a default of null":         {"f: string | nullable default=null", "{type: string, nullable: true}", "(absent)", "1", "(absent)"},
		"one of a number":           {"f: integer | nullable default=null minimum=1", "{type: integer, nullable: true, minimum: 1}", "(absent)", "0", "(absent)"},
		"one of a list":             {"f: '[]string | nullable default=null'", "{type: array, nullable: true, items: {type: string}}", "(absent)", "[1]", "(absent)"},
		"one of a mapping":          {"'f | default=null': {a: string | default=x}", "{type: object, properties: {a: {type: string, default: x}}}", "(absent)", "{a: 1}", "(absent)"},
		"one in place of a type's":  {"f: P | default=null\ntypes: {P: string | default=x}", "{type: string}", "(absent)", "1", "(absent)"},
		"the text null":             {"f: string | default=\"null\"", "{type: string, default: \"null\"}", "(absent)", "1", "\"null\""},
		"a mapping with a default":  {"f: {a: string | default=x}", "{type: object, default: {}, properties: {a: {type: string, default: x}}}", "(absent)", "{a: 1}", "{a: x}"},
		"a mapping's default":       {"'f | default={}': {a: string | default=x}", "{type: object, default: {}, properties: {a: {type: string, default: x}}}", "(absent)", "{a: 1}", "{a: x}"},
		"a required mapping":        {"f: {a | required: {b: string}}", "{type: object, properties: {a: {type: object, properties: {b: {type: string}}}}, required: [a]}", "{a: {}}", "{}", ""},
		"an immutable one":          {"f | immutable: {a: string}", "{type: object, properties: {a: {type: string}}, x-kubernetes-validations: [{rule: self == oldSelf, message: f is immutable}]}", "{}", "", ""},
		"required openAPI":          {"f: {a | required: {openAPI: {type: string}}}", "{type: object, properties: {a: {type: string}}, required: [a]}", "{a: b}", "{}", ""},
		"a type's markers":          {"f: \"[]P\"\ntypes: {P | minProperties=1: {a: string}}", "{type: array, items: {type: object, minProperties: 1, properties: {a: {type: string}}}}", "[{a: b}]", "[{}]", ""},
		"pipes between":             {"f: string | required=true | minLength=1", "{type: string, minLength: 1}", "a", `""`, ""},
	}
}

// TestForms: each type and each marker gives the schema that it stands for, which the API server takes; and it takes a good object,
// and refuses a bad one.
func TestForms(t *testing.T) {
	t.Parallel()
	for name, test := range forms() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			schema := test.read(t)
			of, _ := schema["properties"].(map[string]any)["f"].(map[string]any)
			if test.want != "" {
				if diff := cmp.Diff(asJSON(t, yamlValue(t, test.want)), asJSON(t, of)); diff != "" {
					t.Error(diff)
				}
			}
			crd := definition(schema)
			for _, p := range definitions.Check(t.Context(), crd) {
				t.Errorf("the API server refuses it: %s", p.Message)
			}
			kinds, err := definitions.NewKinds([]*unstructured.Unstructured{crd})
			if err != nil {
				t.Fatal(err)
			}
			check := func(value string) error {
				object := map[string]any{"apiVersion": "example.com/v1", "kind": "Thing", "metadata": map[string]any{"name": "a", "namespace": "b"}, "spec": fieldF(t, value)}
				return kinds.CheckObject(t.Context(), &unstructured.Unstructured{Object: object}, nil)
			}
			if test.good != "" {
				if err := check(test.good); err != nil {
					t.Errorf("the API server refuses %s: %v", test.good, err)
				}
			}
			if test.bad != "" && check(test.bad) == nil {
				t.Errorf("the API server takes %s", test.bad)
			}
		})
	}
}

// read makes the schema of spec.
func (f form) read(t *testing.T) map[string]any {
	t.Helper()
	field, types, _ := strings.Cut(f.text, "\ntypes")
	text := "spec:\n  " + field
	if types != "" {
		text += "\ntypes" + types
	}
	schema, findings := read(t, text)
	if findings != "" {
		t.Fatal(findings)
	}
	return schema
}

// fieldF is a spec that has a value of f, as JSON decodes it.
func fieldF(t *testing.T, value string) map[string]any {
	t.Helper()
	if value == absent {
		return map[string]any{}
	}
	text, err := yaml.YAMLToJSON([]byte(value))
	if err != nil {
		t.Fatal(err)
	}
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON([]byte(`{"apiVersion": "v1", "kind": "Value", "f": ` + string(text) + "}")); err != nil {
		t.Fatal(err)
	}
	return map[string]any{"f": object.Object["f"]}
}

func yamlValue(t *testing.T, text string) (v any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestMistakes: each has a finding at its place, with what to write instead.
func TestMistakes(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ text, want string }{
		"a type":                 {"f: strng", `2:6: error: unknown type "strng"; did you mean "string"? [KN0801]`},
		"another word":           {"f: int", `2:6: error: unknown type "int"; write integer [KN0801]`},
		"in a list":              {`f: "[]bool"`, `2:9: error: unknown type "bool"; write boolean [KN0801]`},
		"no type":                {"f: \"| required\"", `2:7: error: the type is missing; write it before the |, such as string | required [KN0801]`},
		"no bar":                 {"f: string required", `2:6: error: unknown type "string required"; write | between the type and its markers [KN0801]`},
		"keys of a map":          {`f: "map[integer]string"`, `2:7: error: the keys of a map are strings: write map[string]string [KN0801]`},
		"a list of YAML":         {"f: [string]", `2:6: error: a field is a type such as string, or a mapping of the fields of an object, and this is a list; write a list in quotes, such as "[]string" [KN0801]`},
		"bare OpenAPI":           {"f: {type: string, maxLength: 9}", `2:6: error: this is a schema of OpenAPI, and a mapping has fields here; write openAPI: and this below it, or the short form, such as "map[string]string" and string | maxLength=9 [KN0801]`},
		"bare OpenAPI of a map":  {"f: {type: object, additionalProperties: {type: string}, default: {a: b}}", "2:6: error: this is a schema of OpenAPI"},
		"bare OpenAPI of a list": {"f: {type: array, items: {type: string}}", "2:6: error: this is a schema of OpenAPI"},
		"bare OpenAPI of fields": {"f: {type: object, properties: {a: {type: string}}}", "2:6: error: this is a schema of OpenAPI"},
		"bare OpenAPI with text": {"f: {type: string, description: what it is}", "2:6: error: this is a schema of OpenAPI"},
		"bare OpenAPI and more":  {"f: {type: string, maxLength: 9, name: string}", "and this is a number"},
		"a number":               {"f: 3", `2:6: error: a field is a type such as string, or a mapping of the fields of an object, and this is a number [KN0801]`},
		"a marker":               {"f: string | requird", `2:15: error: unknown marker "requird"; did you mean "required"? [KN0802]`},
		"another marker":         {"f: integer | min=1", `2:16: error: unknown marker "min"; write minimum [KN0802]`},
		"a marker's type":        {"f: string | minimum=1", `2:15: error: minimum is for a number, and this is a string [KN0802]`},
		"a marker's value":       {"f: integer | minimum=a", `2:24: error: minimum must be a number, and is a [KN0802]`},
		"no value":               {"f: integer | minimum", `2:16: error: minimum has no value; write minimum=0 [KN0802]`},
		"not a flag":             {"f: integer | required=maybe", `2:25: error: required is true or false, and not "maybe" [KN0802]`},
		"a quote":                {`f: 'string | default="a'`, `2:24: error: the quote is not closed [KN0802]`},
		"a comma":                {`m: {f: string | enum="a,b", g: string}`, `2:10: error: YAML ends the text of f at the comma: in {…}, a text with a comma stands in quotes; write 'string | enum="a,b"' [KN0802]`},
		"more commas":            {`m: {f: string | enum=a,b,c}`, `write 'string | enum=a,b,c' [KN0802]`},
		"a field without type":   {"f: string | default=a\n  g:", `3:5: error: a field is a type such as string, or a mapping of the fields of an object, and this is null [KN0801]`},
		"a bracket":              {`f: '[]string | default=["a"'`, `2:26: error: the bracket is not closed [KN0802]`},
		"a pattern":              {`f: string | pattern="["`, "2:23: error: pattern is no regular expression: error parsing regexp: missing closing ]: `[` [KN0802]"},
		"keys without fields":    {`f: "[]string | uniqueBy=name"`, `uniqueBy is for a list of objects with fields`},
		"an optional key":        {"f: \"[]P | uniqueBy=a\"\ntypes: {P: {a: string}}", `the field a of the items is a key: it must be required, or have a default`},
		"a key that is none":     {"f: \"[]P | uniqueBy=b\"\ntypes: {P: {a: string}}", `uniqueBy names "b", and the items have no field of that name`},
		"a cycle":                {"f: A\ntypes: {A: {b: B}, B: {a: A}}", `type A contains itself (A → B → A): a schema has an end; write object where it would begin anew [KN0801]`},
		"a type's name":          {"f: string\ntypes: {string: integer}", `string is a type of every schema: Text; give your type another name [KN0801]`},
		"an unused type":         {"f: string\ntypes: {A: strng}", `3:12: error: unknown type "strng"; did you mean "string"? [KN0801]`},
		"a set of objects":       {"f: \"[]P | uniqueItems\"\ntypes: {P: {a: string}}", "2:24: error: uniqueItems is for a list of text, numbers or booleans: write uniqueBy=NAME for objects [KN0802]"},
		"any value, immutable":   {"f: any | immutable", "immutable is not for any value, which the API server cannot compare"},
		"any value, validated":   {"f: '[]any | validation=\"true\"'", "validation is not for any value, which the API server cannot compare"},
		"a default":              {"f: integer | default=1.5", `2:24: error: default must be a whole number, and is 1.5 [KN0802]`},
		"a default of numbers":   {"f: number | default=a", `default must be a number, and is a`},
		"a default of truth":     {"f: boolean | default=yes", `default must be true or false, and is yes`},
		"a default of a list":    {`f: "[]string | default=a"`, `default must be a list in JSON, such as ["a"], and is a`},
		"a default of a map":     {`f: "map[string]string | default=a"`, `default must be an object in JSON, such as {"a": "b"}, and is a`},
		"an example":             {"f: integer | example=a", `example must be a whole number, and is a`},
		"an octal default":       {"f: integer | default=0400", `default must be a whole number that does not begin with 0, which means octal in YAML, and is 0400`},
		"a format":               {"f: string | format=hostnam", `2:22: error: the API server has no format "hostnam" for a string; did you mean "hostname"? [KN0802]`},
		"a number's format":      {"f: integer | format=double", `the API server has no format "double" for a number; it has int32, int64 [KN0802]`},
		"a name's marker":        {"f | requird: {a: string}", `2:7: error: unknown marker "requird"; did you mean "required"? [KN0802]`},
		"a name's quote":         {"f | description=\"a: {a: string}", `2:19: error: the quote is not closed [KN0802]`},
		"no name":                {"'| required': {a: string}", `2:3: error: the name of the field is missing; write it before the | [KN0801]`},
		"two of a name":          {"f | required: {a: string}\n  f: string", `3:3: error: there are two fields f; remove one of them [KN0801]`},
		"markers of a type":      {"f | required: string", `2:7: error: the markers of f stand behind its type; write f: string | required [KN0802]`},
		"two types of a name":    {"f: P\ntypes: {P: {a: string}, P | atomic: {a: string}}", `there are two fields P`},
		"another openAPI":        {"f: {openapi: {type: string}}", `2:7: error: openapi is no field that a schema is written below; write openAPI [KN0801]`},
		"its other name":         {"f: {openAPIV3Schema: {type: string}}", `openAPIV3Schema is no field that a schema is written below; write openAPI`},
		"immutable items":        {"f: \"[]P\"\ntypes: {P: {a: string | immutable}}", `3:25: error: immutable is in the items of a list without uniqueBy: the API server does not know which item was which; write uniqueBy=NAME behind the list, or immutable there and not here [KN0802]`},
		"an immutable type":      {"f: '[]P'\ntypes: {P: string | immutable}", `3:21: error: immutable is in the items of a list without uniqueBy`},
		"immutable in a set":     {"f: '[]P | uniqueItems'\ntypes: {P: string | immutable}", `3:21: error: immutable is in the items of a list without uniqueBy`},
		"immutable, deeper":      {"f: '[]P'\ntypes: {P: {m: 'map[string]Q'}, Q: {a: string | immutable}}", `3:49: error: immutable is in the items of a list without uniqueBy`},
		"immutable, atomic":      {"f | atomic: {a: string | immutable}", `2:28: error: immutable is in an atomic value: the API server does not compare its parts; remove atomic, or write immutable behind the value and not here [KN0802]`},
		"immutable, entries":     {"f: 'map[string]P | atomic'\ntypes: {P: {a: string | immutable}}", `immutable is in an atomic value`},
		"immutable, no name":     {"1x: string | immutable", `2:16: error: immutable: the API server has no expression for "1x", and so cannot see that it is removed; give it a name of letters, digits, - and _ that does not begin with a digit, or make it required [KN0802]`},
		"immutable OpenAPI":      {"f | immutable: {openAPI: {x-kubernetes-preserve-unknown-fields: true}}", `immutable is not for any value, which the API server cannot compare`},
		"single quotes":          {"f: string | default='a b' required", `2:23: error: single quotes would be a part of the value 'a b'; write default="a b" [KN0802]`},
		"blanks around =":        {"f: string | minLength = 3", `2:24: error: no blank stands before the = of minLength [KN0802]`},
		"enum of booleans":       {"f: boolean | enum=true", `enum is for a string or a number, and this is a boolean; write {openAPI: {type: boolean, enum: [true]}} [KN0802]`},
		"an empty name":          {"'': string", `2:3: error: a field has an empty name [KN0801]`},
		"given twice":            {"f: string | required minLength=1 | required", `2:38: error: required is given twice; remove one of them [KN0802]`},
		"twice behind a name":    {"f | required required: {a: string}", `2:16: error: required is given twice`},
		"two messages":           {"f: string | validation=\"self != 'a'\" message=a message=b", `the validation has a message already`},
		"a set with keys":        {"f: \"[]P | uniqueBy=a atomic\"\ntypes: {P: {a: string | required}}", `a list has uniqueItems, uniqueBy or atomic, and only one of them`},
		"enum of digits":         {"f: string | enum=[1,2]", `2:20: error: enum of a string has 1, which is none: write ["1"] [KN0802]`},
		"enum of text":           {`f: 'integer | enum=["a"]'`, `enum of a number has a [KN0802]`},
		"enum of nothing":        {"f: string | enum=[]", `enum has no value: no object could have the field`},
		"enum, twice":            {"f: string | enum=a,b,a", `enum has a twice`},
		"enum and pattern":       {`f: string | enum=a,b pattern="^a"`, `2:15: error: enum has "b", which no object can have: should match '^a'; write another value, or change what the field takes [KN0802]`},
		"multipleOf":             {"f: integer | multipleOf=0", `multipleOf must be greater than 0, and is 0`},
		"no such default":        {`f: string | enum="a,b" default=c`, `2:26: error: default has "c", which no object can have: supported values: "a", "b"; write another value, or change what the field takes [KN0802]`},
		"a default too great":    {"f: integer | maximum=3 default=9", `default has 9, which no object can have: should be less than or equal to 3`},
		"a default of a type":    {"f: P | default=b\ntypes: {P: 'string | pattern=\"^a\"'}", `2:10: error: default has "b", which no object can have: should match '^a'`},
		"a default's field":      {"'f | default={}': {a: string | required}", `default has {}, which no object can have: a: required value`},
		"no such example":        {"f: date | example=soon", `example has "soon", which no object can have: must be of type date`},
		"no value after =":       {"f: string | default= required", `2:15: error: default has no value; write default=1 [KN0802]`},
		"a key twice":            {"f: \"[]P | uniqueBy=a,a\"\ntypes: {P: {a: string | required}}", `uniqueBy names a twice`},
		"a key, misspelt":        {"f: \"[]P | uniqueBy=nme\"\ntypes: {P: {name: string | required}}", `uniqueBy names "nme", and the items have no field of that name; did you mean "name"? [KN0802]`},
		"a key that is a list":   {"f: \"[]P | uniqueBy=a\"\ntypes: {P: {a | required: {b: string}}}", `the field a of the items is a key: it must be text, a number or a boolean`},
		"a key that is null":     {"f: \"[]P | uniqueBy=a\"\ntypes: {P: {a: string | required nullable}}", `the field a of the items is a key: it cannot be nullable`},
		"a whole object":         {"f | embeddedResource: {kind: integer}", `the kind of a whole object is text: write kind: string, or leave it out`},
		"its metadata":           {"f | embeddedResource: {metadata: {name: string}}", `a whole object has metadata: leave it out, or write the field with openAPI to restrict its name`},
		"no such format":         {"f: number | format=money", `the API server has no format "money" for a number; it has float, double [KN0802]`},
		"message alone":          {"f: string | message=a", `message belongs behind the validation that it is about`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, findings := read(t, "spec:\n  "+test.text)
			if !strings.Contains(findings, test.want) {
				t.Errorf("the findings lack %q:\n%s", test.want, findings)
			}
		})
	}
}

// TestTooManyFields: types that multiply are bounded.
func TestTooManyFields(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("spec: {f: T0}\ntypes:\n")
	for i := range 30 {
		fmt.Fprintf(&b, "  T%d: {a: T%d, b: T%d}\n", i, i+1, i+1)
	}
	b.WriteString("  T30: string\n")
	if _, findings := read(t, b.String()); strings.Count(findings, "more than 5,000 fields") != 1 {
		t.Error(findings)
	}
}

// TestEveryRowHasACase: each type and each marker of the tables in docs/reference/schema.md is used by a case of TestForms, and the tables have no others.
func TestEveryRowHasACase(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/reference/schema.md")
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for _, test := range forms() {
		for _, word := range regexp.MustCompile(`[a-zA-Z0-9-]+`).FindAllString(test.text, -1) {
			used[word] = true
		}
	}
	var types, markers strings.Builder
	for _, typ := range shortschema.Types() {
		fmt.Fprintf(&types, "| `%s` | %s |\n", typ.Name, typ.Doc)
		if !used[typ.Name] {
			t.Errorf("no case has the type %s", typ.Name)
		}
	}
	for _, m := range shortschema.Markers() {
		written := m.Name
		if m.Value != "" {
			written += "=" + m.Value
		}
		fmt.Fprintf(&markers, "| `%s` | %s | %s |\n", written, strings.Join(m.For(), ", "), m.Doc)
		if !used[m.Name] {
			t.Errorf("no case has the marker %s", m.Name)
		}
	}
	for heading, table := range map[string]string{"| type | |\n| --- | --- |\n": types.String(), "| marker | for | |\n| --- | --- | --- |\n": markers.String()} {
		if !strings.Contains(string(page), "\n"+heading+table+"\n") {
			t.Errorf("docs/reference/schema.md does not have the table\n%s%s", heading, table)
		}
	}
}

// The API server keeps the fields of a Rule object in another order than its text has them. The definition is the same.
func TestOrderOfFields(t *testing.T) {
	t.Parallel()
	const one, other = `
spec: {b: string | required, a: integer | required, d: integer | immutable, c: string | immutable}
`, `
spec: {a: integer | required, b: string | required, c: string | immutable, d: integer | immutable}
`
	first, _ := read(t, one)
	second, _ := read(t, other)
	if diff := cmp.Diff(first, second); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]any{"a", "b"}, first["required"]); diff != "" {
		t.Error(diff)
	}
}
