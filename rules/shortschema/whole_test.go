package shortschema_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kanon.dev/kanon/restmapping/definitions"
	"kanon.dev/kanon/restmapping/openapi"
	"kanon.dev/kanon/rules"
	"kanon.dev/kanon/rules/syntax"
)

// TestWhole: what a schema says of the whole kind is in the definition, and the API server takes it.
func TestWhole(t *testing.T) {
	t.Parallel()
	const schema, columns = "versions.0.schema.openAPIV3Schema", "versions.0.additionalPrinterColumns"
	for name, test := range map[string]struct{ schema, at, want string }{
		"a description":                 {"{description: What shops sell., spec: {a: string}}", schema + ".description", "What shops sell."},
		"a validation of spec":          {"{spec: {a: string}, validations: [{rule: has(self.a)}]}", schema + ".properties.spec.x-kubernetes-validations", "[{rule: has(self.a)}]"},
		"a validation of the object":    {"{spec: {a: string}, validations: [{rule: self.metadata.name.size() < 9, self: Object, message: too long, reason: FieldValueForbidden}]}", schema + ".x-kubernetes-validations", "[{rule: self.metadata.name.size() < 9, message: too long, reason: FieldValueForbidden}]"},
		"a validation of a new object":  {"{spec: {a: string}, validations: [{rule: 'has(self.a) || oldSelf.hasValue()', optionalOldSelf: true}]}", schema + ".properties.spec.x-kubernetes-validations", "[{rule: 'has(self.a) || oldSelf.hasValue()', optionalOldSelf: true}]"},
		"spec as OpenAPI":               {"{spec: {openAPI: {type: object, properties: {a: {type: string}}, required: [a]}}}", schema + ".properties.spec", "{type: object, properties: {a: {type: string}}, required: [a]}"},
		"a spec that is required":       {"{spec: {openAPI: {type: object, properties: {a: {type: string}}, required: [a]}}}", schema + ".required", "[spec]"},
		"status as OpenAPI":             {"{spec: {a: string}, status: {openAPI: {type: object, maxProperties: 9, properties: {b: {type: string}}}}}", schema + ".properties.status.maxProperties", "9"},
		"status as OpenAPI, with more":  {"{spec: {a: string}, status: {openAPI: {type: object, properties: {b: {type: string}}}}}", schema + ".properties.status.properties.seen", "{type: string}"},
		"a column of a field":           {"{spec: {a: integer | printColumn=A}}", columns + ".0", "{name: A, type: integer, jsonPath: .spec.a}"},
		"a column of a name with a dot": {`{spec: {a.b: string | printColumn=A}}`, columns + ".0", `{name: A, type: string, jsonPath: '.spec.a\.b'}`},
		"a column of properties":        {"{spec: {properties: {properties: string | printColumn=A}}}", columns + ".0", "{name: A, type: string, jsonPath: .spec.properties.properties}"},
		"a column of an inferred field": {"{spec: {a: string}, columns: [{name: A, value: .status.count}]}", columns + ".0", "{name: A, type: integer, jsonPath: .status.count}"},
		"a column of a condition":       {`{spec: {a: string}, columns: [{name: A, value: '.status.conditions[?(@.type=="Ready")].lastTransitionTime'}]}`, columns + ".0", `{name: A, type: date, jsonPath: '.status.conditions[?(@.type=="Ready")].lastTransitionTime'}`},
		"a column of all items":         {"{spec: {a: '[]integer'}, columns: [{name: A, value: '.spec.a[*]'}]}", columns + ".0", "{name: A, type: integer, jsonPath: '.spec.a[*]'}"},
		"the column of readiness":       {"{spec: {a: string}}", columns + ".0", `{name: Ready, type: string, jsonPath: '.status.conditions[?(@.type=="Ready")].status'}`},
		"the column of the reason":      {"{spec: {a: string}}", columns + ".1", `{name: Reason, type: string, priority: 1, jsonPath: '.status.conditions[?(@.type=="Ready")].reason'}`},
		"the column of the age":         {"{spec: {a: string}}", columns + ".2", "{name: Age, type: date, jsonPath: .metadata.creationTimestamp}"},
		"a column called ready":         {"{spec: {a: string}, columns: [{name: READY, value: .spec.a}]}", columns + ".1.name", "Reason"},
		"the seen generation":           {"{spec: {a: string}}", schema + ".properties.status.properties.observedGeneration.type", "integer"},
		"a column of an object":         {"{spec: {a: {b: string}}, columns: [{name: A, value: .spec.a}]}", columns + ".0", "{name: A, type: string, jsonPath: .spec.a}"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			docs, findings := syntax.Decode("rule.yaml", []byte(`apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: example}
spec:
  parent: {apiVersion: example.com/v1, kind: Thing, schema: `+test.schema+`}
  status: {seen: "${parent.metadata.name}", count: "${1}"}
`))
			findings = append(findings, rules.Inference{Schemas: openapi.Builtin{}}.Infer(&docs)...)
			for _, f := range findings {
				t.Error(f)
			}
			if t.Failed() {
				return
			}
			for _, p := range definitions.Check(t.Context(), docs.CRDs[0]) {
				t.Errorf("the API server refuses it: %s", p.Message)
			}
			got := docs.CRDs[0].Object["spec"]
			for step := range strings.SplitSeq(test.at, ".") {
				switch value := got.(type) {
				case map[string]any:
					got = value[step]
				case []any:
					i, _ := strconv.Atoi(step)
					got = value[i]
				}
			}
			if diff := cmp.Diff(asJSON(t, yamlValue(t, test.want)), asJSON(t, got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestQuantity: a quantity has nothing that the API server warns of, and is one in expressions.
func TestQuantity(t *testing.T) {
	t.Parallel()
	docs, findings := syntax.Decode("rule.yaml", []byte(`apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: example}
spec:
  parent: {apiVersion: example.com/v1, kind: Thing, schema: {spec: {a: quantity}}}
  children:
  - id: other
    template: {apiVersion: example.com/v1, kind: Thing, metadata: {name: x}, spec: {a: 5 apples}}
`))
	known := rules.Inference{Schemas: openapi.Builtin{}}
	if findings = append(findings, known.Infer(&docs)...); len(findings) > 0 {
		t.Fatal(findings)
	}
	kinds, err := openapi.FromCRD(docs.CRDs[0])
	if err != nil {
		t.Fatal(err)
	}
	_, findings = rules.Compile(docs.Rules[0], rules.Options{Schemas: kinds})
	var text string
	for _, f := range findings {
		text += f.String() + "\n"
	}
	if !strings.Contains(text, "a quantity, such as 500m or 2Gi") {
		t.Errorf("what is no quantity is taken: %s", text)
	}
}

// TestConditionsInStatus: spec.status cannot give the conditions another type, in which Kanon could not report.
func TestConditionsInStatus(t *testing.T) {
	t.Parallel()
	_, findings := syntax.Decode("rule.yaml", []byte(`apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: example}
spec:
  parent: {apiVersion: example.com/v1, kind: Thing, schema: {spec: {a: string}}}
  status: {conditions: x}
`))
	const want = "rule.yaml:6:24: error: status.conditions is the list in which Kanon reports on the object; write spec.conditions, which Kanon adds to it [KN0803]"
	if len(findings) != 1 || findings[0].String() != want {
		t.Errorf("the findings are %v, want %s", findings, want)
	}
}
