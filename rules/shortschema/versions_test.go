package shortschema_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kanon.dev/kanon/restmapping/definitions"
	"kanon.dev/kanon/rules/syntax"
)

// TestVersions: versions that are served or stored have the same fields with the same types, because there is no conversion.
func TestVersions(t *testing.T) {
	t.Parallel()
	const (
		onlyIn = "spec.a is in v1 and not in v2: who writes an object in v2 removes it"
		text   = "spec.a is text in v1 and "
	)
	for name, test := range map[string]struct {
		// first and second are v1, which is stored, and v2; set is spec.status.
		first, second, set string
		want               []string
	}{
		"the same":                 {"spec: {a: string}", "spec: {a: string}", "", nil},
		"defaults and bounds":      {"spec: {a: string}", "spec: {a: string | required default=x maxLength=9}", "", nil},
		"only in the first":        {"spec: {a: string}", "spec: {b: object}", "", []string{onlyIn, "spec.b is in v2 and not in v1: who writes an object in v1 removes it"}},
		"only one has a spec":      {"spec: {a: string}", "{}", "", []string{onlyIn}},
		"another type":             {"spec: {a: string}", "spec: {a: integer}", "", []string{text + "a whole number in v2, and there is no conversion between them"}},
		"a number or text":         {"spec: {a: string}", "spec: {a: int-or-string}", "", []string{text + "a number or text in v2, and there is no conversion between them"}},
		"an object and a map":      {"spec: {a: {b: string}}", `spec: {a: "map[string]string"}`, "", []string{"spec.a is an object in v1 and a map in v2, and there is no conversion between them"}},
		"deeper":                   {"spec: {a: {b: string}}", "spec: {a: {c: string}}", "", []string{"spec.a.b is in v1 and not in v2: who writes an object in v2 removes it", "spec.a.c is in v2 and not in v1: who writes an object in v1 removes it"}},
		"in lists":                 {"spec: {a: \"[]P\"}, types: {P: {b: string, c: string}}", "spec: {a: \"[]P\"}, types: {P: {b: string}}", "", []string{"spec.a.[].c is in v1 and not in v2: who writes an object in v2 removes it"}},
		"in maps":                  {`spec: {a: "map[string]string"}`, `spec: {a: "map[string]integer"}`, "", []string{"spec.a.[] is text in v1 and a whole number in v2, and there is no conversion between them"}},
		"any value":                {"spec: {a: string}", "spec: {a: any}", "", []string{text + "any value in v2, and there is no conversion between them"}},
		"any fields":               {"spec: {a: {b: string}}", "spec: {a: object}", "", []string{"spec.a is an object in v1 and an object with any fields in v2, and there is no conversion between them"}},
		"not served":               {"spec: {a: string}", "served: false, spec: {}", "", nil},
		"the status":               {"status: {a: string}", "status: {a: integer}", "", []string{"status.a is text in v1 and a whole number in v2, and there is no conversion between them"}},
		"the status of the rule":   {"status: {a: string}", "{}", "a: x", nil},
		"what openAPI has, too":    {"spec: {a: {openAPI: {type: object, properties: {b: {type: string}}}}}", "spec: {a: {}}", "", []string{"spec.a.b is in v1 and not in v2: who writes an object in v2 removes it"}},
		"a column that is missing": {"spec: {a: string | printColumn=A}", "spec: {a: string}", "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			second := test.second
			if second == "{}" {
				second = "types: {}"
			}
			rule := "apiVersion: kanon.dev/v1alpha1\nkind: Rule\nmetadata: {name: example}\nspec:\n  parent:\n    apiVersion: example.com/v1\n    kind: Thing\n    schema:\n      versions:\n" +
				"      - {name: v1, stored: true, " + test.first + "}\n      - {name: v2, " + second + "}\n  status: {" + test.set + "}\n"
			docs, findings := syntax.Decode("rule.yaml", []byte(rule))
			var got []string
			for _, f := range findings {
				got = append(got, f.Message)
				if f.Line < 10 || !strings.Contains(f.String(), "KN0805") {
					t.Errorf("%s", f)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if len(test.want) > 0 {
				return
			}
			for _, p := range definitions.Check(t.Context(), docs.CRDs[0]) {
				t.Errorf("the API server refuses it: %s", p.Message)
			}
		})
	}
}
