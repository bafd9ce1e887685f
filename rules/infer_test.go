package rules_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"kanon.dev/kanon/restmapping/definitions"
	"kanon.dev/kanon/restmapping/openapi"
	"kanon.dev/kanon/rules"
	"kanon.dev/kanon/rules/syntax"
)

// inferred is what comes of a rule for a Kiosk, of which spec is a part: the fields of the status in its definition, and the findings.
func inferred(t *testing.T, spec string) (status map[string]any, findings string) {
	t.Helper()
	known, err := openapi.BuiltinKinds()
	if err != nil {
		t.Fatal(err)
	}
	text := `apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: example}
spec:
  children:
  - id: deployment
    template:
      apiVersion: apps/v1
      kind: Deployment
      metadata: {name: "${parent.metadata.name}"}
      spec:
        selector: {matchLabels: {app: "${parent.metadata.name}"}}
        template: {metadata: {labels: {app: "${parent.metadata.name}"}}, spec: {containers: [{name: main, image: nginx}]}}
  - id: booth
    optional: true
    template: {apiVersion: fair.example.com/v1, kind: Booth, metadata: {name: "${parent.metadata.name}"}}
` + spec
	docs, found := syntax.Decode("rule.yaml", []byte(text))
	found = append(found, rules.Inference{Schemas: known}.Infer(&docs)...)
	for _, f := range found {
		findings += f.String() + "\n"
	}
	if len(docs.CRDs) == 0 {
		return nil, findings
	}
	for _, p := range definitions.Check(t.Context(), docs.CRDs[0]) {
		t.Errorf("the API server refuses the definition: %s", p.Message)
	}
	versions, _, _ := unstructured.NestedSlice(docs.CRDs[0].Object, "spec", "versions")
	status, _, _ = unstructured.NestedMap(versions[0].(map[string]any), "schema", "openAPIV3Schema", "properties", "status") //nolint:forcetypeassert // Definition makes it
	if status["x-kubernetes-preserve-unknown-fields"] == nil {
		unstructured.RemoveNestedField(status, "properties", "conditions")
		unstructured.RemoveNestedField(status, "properties", "observedGeneration")
	}
	return status, findings
}

// TestInferStatus: each field of the status has the type of its expression.
func TestInferStatus(t *testing.T) {
	t.Parallel()
	const moment = "{type: string, format: date-time}"
	for name, test := range map[string]struct{ status, want string }{
		"a field of a kind":         {"a: ${children.deployment.status.availableReplicas}", "a: {type: integer}"},
		"a field with a default":    {"a: ${children.deployment.status.?availableReplicas.orValue(0)}", "a: {type: integer}"},
		"an optional field":         {"a: ${children.deployment.status.?availableReplicas}", "a: {type: integer}"},
		"a field of the parent":     {"a: ${parent.spec.?size}", "a: {type: integer}"},
		"text":                      {"a: http://${parent.metadata.name}", "a: {type: string}"},
		"a truth":                   {"a: ${parent.metadata.name == 'x'}", "a: {type: boolean}"},
		"a fraction":                {"a: ${parent.spec.?size.orValue(1) * 0.5}", "a: {type: number}"},
		"a time that is read":       {"a: ${children.deployment.metadata.creationTimestamp}", "a: " + moment},
		"a time that is computed":   {"a: ${timestamp('2026-03-05T06:07:08Z') + duration('1h')}", "a: " + moment},
		"a duration":                {"a: ${duration('1h')}", "a: {type: string, format: duration}"},
		"bytes":                     {"a: ${bytes(parent.metadata.name)}", "a: {type: string, format: byte}"},
		"a number or text":          {"a: ${children.deployment.spec.strategy.rollingUpdate.maxSurge}", "a: {x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}]}"},
		"a map":                     {"a: ${children.deployment.metadata.labels}", "a: {type: object, additionalProperties: {type: string}}"},
		"a list":                    {"a: ${children.deployment.spec.template.spec.containers.map(c, c.image)}", "a: {type: array, items: {type: string}}"},
		"a list of maps":            {"a: \"${children.deployment.spec.template.spec.containers.map(c, {'name': c.name, 'length': c.image.size()})}\"", "a: {type: array, items: {type: object, properties: {name: {type: string}, length: {type: integer}}}}"},
		"an object":                 {"a: ${children.deployment.spec.strategy}", "a: {type: object, properties: {type: {type: string}, rollingUpdate: {type: object, properties: {maxSurge: {x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}]}, maxUnavailable: {x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}]}}}}}"},
		"below":                     {"a: {b: {c: '${parent.spec.?size}', d: x}}", "a: {type: object, properties: {b: {type: object, properties: {c: {type: integer}, d: {type: string}}}}}"},
		"what is written out":       {"a: {b: x, c: 1, d: true, e: 1.5, f: [1, 2.5]}", "a: {type: object, properties: {b: {type: string}, c: {type: integer}, d: {type: boolean}, e: {type: number}, f: {type: array, items: {type: number}}}}"},
		"a list that is written":    {"a: [{b: '${parent.metadata.name}'}, {c: 1}]", "a: {type: array, items: {type: object, properties: {b: {type: string}, c: {type: integer}}}}"},
		"a list put into another":   {"a: [x, '${...parent.spec.?names.orValue([])}']", "a: {type: array, items: {type: string}}"},
		"names that are computed":   {"a: {'${parent.metadata.name}': 1, b: 2}", "a: {type: object, additionalProperties: {type: integer}}"},
		"a value or null":           {"a: \"${parent.spec.?size.orValue(1) > 1 ? parent.metadata.name : null}\"", "a: {type: string}"},
		"a value or none":           {"a: \"${parent.spec.?size.orValue(1) > 1 ? optional.of(parent.metadata.name) : optional.none()}\"", "a: {type: string}"},
		"by way of a variable":      {"a: ${variables.size}", "a: {type: integer}"},
		"from the status":           {"a: ${parent.spec.?size}\n    b: ${parent.?status.?a.orValue(0) + 1}", "a: {type: integer}\nb: {type: integer}"},
		"by way of two others":      {"a: ${parent.?status.?b}\n    b: ${parent.?status.?c}\n    c: ${parent.spec.?size}", "a: {type: integer}\nb: {type: integer}\nc: {type: integer}"},
		"typed, and set":            {"typed: ${fromJson('1')}", ""},
		"typed below":               {"below: {typed: \"${fromJson('1')}\", a: x}", "below: {type: object, properties: {typed: {type: integer}, a: {type: string}}}"},
		"anything within an object": {"a: ${children.deployment.metadata.managedFields}", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			status, findings := inferred(t, `
  parent:
    apiVersion: mall.example.com/v1
    kind: Kiosk
    schema:
      spec: {size: integer | minimum=1 maximum=5, names: "[]string"}
      status: {typed: integer, below: {typed: integer}}
  variables: [{name: size, value: "${parent.spec.?size.orValue(1)}"}]
  status:
    `+test.status+"\n")
			if findings != "" {
				t.Fatal(findings)
			}
			if test.want == "" {
				return
			}
			want := map[string]any{}
			if err := yaml.Unmarshal([]byte(test.want), &want); err != nil {
				t.Fatal(err)
			}
			properties, _ := status["properties"].(map[string]any)
			delete(properties, "typed")
			if !strings.Contains(test.want, "below:") {
				delete(properties, "below")
			}
			if diff := cmp.Diff(inJSON(t, want), inJSON(t, properties)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestUninferredStatus: what cannot be inferred is a finding that says where to write the type, and takes any value.
func TestUninferredStatus(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ status, want string }{
		"any JSON":             {"a: ${fromJson('1')}", "error: the type of status.a cannot be inferred; write it in spec.parent.schema: status: {a: TYPE} [KN0804]"},
		"a kind elsewhere":     {"a: {b: '${children.booth.spec.price}'}", "status.a.b cannot be inferred; write it in spec.parent.schema: status: {a: {b: TYPE}}"},
		"an empty list":        {"a: []", "the type of status.a cannot be inferred"},
		"an empty mapping":     {"a: {}", "the type of status.a cannot be inferred"},
		"a quantity":           {"a: ${quantity('1Gi')}", "the type of status.a cannot be inferred; leave out quantity(…): a field takes the text that it reads [KN0804]"},
		"a version":            {"a: ${semver('1.2.3')}", "the type of status.a cannot be inferred; leave out semver(…): a field takes the text that it reads [KN0804]"},
		"a URL":                {"a: ${url('https://example.com')}", "the type of status.a cannot be inferred; leave out url(…): a field takes the text that it reads [KN0804]"},
		"quantities":           {"a: ${[quantity('1Gi')]}", "the type of status.a cannot be inferred"},
		"an IP address":        {"a: ${ip('10.0.0.1')}", "the type of status.a cannot be inferred; write string(…) [KN0804]"},
		"two types":            {"a: [x, 1]", "the type of status.a cannot be inferred"},
		"what it depends on":   {"a: ${parent.?status.?a}", "the type of status.a cannot be inferred, because it depends on itself"},
		"all of it":            {"${fromJson('{}')}", "the type of status cannot be inferred; write a mapping of fields, or type them in spec.parent.schema.status"},
		"one with another":     {"a: ${fromJson('1')}\n    b: ${parent.metadata.name}", "status: {a: TYPE} [KN0804]\n"},
		"an object in a cycle": {"a: ${children.definition.spec.versions}", "the type of status.a cannot be inferred"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, findings := inferred(t, `
  - id: definition
    optional: true
    template: {apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: "${parent.metadata.name}"}}
  parent:
    apiVersion: mall.example.com/v1
    kind: Kiosk
    schema: {spec: {size: integer}}
  status:
    `+test.status+"\n")
			if !strings.Contains(findings, test.want) || strings.Count(findings, "\n") != 1 {
				t.Errorf("the findings are\n%s", findings)
			}
		})
	}
}

func inJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestInferFromOtherTexts: the types of a status may come from a kind that another rule defines, whatever the order, or that is known from
// elsewhere. A rule waits for a kind of which the types may still come.
func TestInferFromOtherTexts(t *testing.T) {
	t.Parallel()
	rule := func(kind, reads, status string) string {
		return `
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: ` + strings.ToLower(kind) + `}
spec:
  parent: {apiVersion: fair.example.com/v1, kind: ` + kind + `, schema: {spec: {size: integer}}}
  children:
  - id: other
    template: {apiVersion: fair.example.com/v1, kind: ` + reads + `, metadata: {name: "${parent.metadata.name}"}}
  status: ` + status + "\n"
	}
	const unknown = "the type of status.a cannot be inferred; write it in spec.parent.schema: status: {a: TYPE} [KN0804]"
	booth := rule("Booth", "Stand", `{b: "${parent.spec.?size.orValue(1)}"}`)
	for name, c := range map[string]struct {
		texts []string
		// awaits is true if the types of kinds that are not known may come.
		awaits bool
		// want is the type of status.a of the first text, with the findings; awaited is what it waits for.
		want, awaited string
	}{
		"the other after it":     {texts: []string{rule("Fair", "Booth", `{a: "${children.other.status.b}"}`), booth}, want: "integer"},
		"in one text":            {texts: []string{rule("Fair", "Booth", `{a: "${children.other.status.b}"}`) + "---" + booth}, want: "integer"},
		"through a third":        {texts: []string{rule("Fair", "Hall", `{a: "${children.other.status.c}"}`), rule("Hall", "Booth", `{c: "${children.other.status.b}"}`), booth}, want: "integer"},
		"through variables":      {texts: []string{rule("Fair", "Booth", `{a: "${variables.b}"}`) + `  variables: [{name: b, value: "${children.other.status.b}"}]` + "\n", booth}, want: "integer"},
		"not known":              {texts: []string{rule("Fair", "Booth", `{a: "${children.other.status.b}"}`)}, want: unknown},
		"not known, and may be":  {texts: []string{rule("Fair", "Booth", `{a: "${children.other.status.b}"}`)}, awaits: true, awaited: "Booth"},
		"awaited by variables":   {texts: []string{rule("Fair", "Booth", `{a: "${variables.b}"}`) + `  variables: [{name: b, value: "${children.other.status.b}"}]` + "\n"}, awaits: true, awaited: "Booth"},
		"of no other kind":       {texts: []string{rule("Fair", "Booth", `{a: "${fromJson(parent.metadata.name)}"}`)}, awaits: true, want: unknown},
		"of the other, not read": {texts: []string{rule("Fair", "Booth", `{a: "${parent.metadata.name}"}`)}, awaits: true, want: "string"},
		"each of the other":      {texts: []string{rule("Fair", "Booth", `{a: "${children.other.status.b}"}`), rule("Booth", "Fair", `{b: "${children.other.status.a}"}`)}, want: unknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var all []*syntax.Documents
			for i, text := range c.texts {
				docs, findings := syntax.Decode(string(rune('a'+i))+".yaml", []byte(text))
				if len(findings) > 0 {
					t.Fatal(findings)
				}
				all = append(all, &docs)
			}
			inference := rules.Inference{Schemas: openapi.Builtin{}}
			if c.awaits {
				inference.Awaits = func(schema.GroupVersionKind) bool { return true }
			}
			var got string
			for _, f := range inference.Infer(all...) {
				if strings.HasPrefix(f.File, "a.yaml") {
					got += f.Message + "; " + f.Hint + " [" + string(f.Code) + "]"
				}
			}
			var awaited string
			for _, rule := range all[0].Rules {
				for _, gvk := range rule.Parent.Awaits {
					awaited += gvk.Kind
				}
			}
			if got == "" && awaited == "" {
				versions, _, _ := unstructured.NestedSlice(all[0].CRDs[0].Object, "spec", "versions")
				got, _, _ = unstructured.NestedString(versions[0].(map[string]any), "schema", "openAPIV3Schema", "properties", "status", "properties", "a", "type") //nolint:forcetypeassert // Definition makes it
			}
			if got != c.want || awaited != c.awaited {
				t.Errorf("got %q, waiting for %q; want %q, waiting for %q", got, awaited, c.want, c.awaited)
			}
			if whole := len(all[0].WholeCRDs()); awaited != "" && whole > 0 {
				t.Error("a definition with a type that is awaited is whole")
			}
		})
	}
}
