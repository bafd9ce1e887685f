package rules

import (
	"strings"
	"testing"

	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/rules/syntax"
)

// A child is private if its name or its namespace tells what a Secret has in it, and not if it tells where the Secret is.
func TestPrivateNames(t *testing.T) {
	t.Parallel()
	const lookup = "  lookups:\n  - {id: s, apiVersion: v1, kind: Secret, name: s}\n  variables:\n  - {name: v, value: \"${string(lookups.s.data.a)}\"}\n"
	for name, want := range map[string]bool{
		`name: "${lookups.s.metadata.name}-copy"`:                  false,
		`name: "a-${parent.metadata.name}"`:                        false,
		`name: "${string(lookups.s.data.a)}"`:                      true,
		`name: "x-${variables.v}"`:                                 true,
		`name: a, namespace: "${string(lookups.s.data.a)}"`:        true,
		`name: a, labels: {a: "${string(lookups.s.data.a)}"}`:      false,
		`name: a, annotations: {a: "${variables.v}", b: "${'a'}"}`: false,
	} {
		p := compileWithin(t, lookup+"  children:\n  - id: a\n    template: {apiVersion: v1, kind: ConfigMap, metadata: {"+name+"}}\n", program.Limits{})
		if got := p.Children[0].Private; got != want || p.HidesNames != want {
			t.Errorf("%s: private is %t, and the rule hides names: %t; want %t", name, got, p.HidesNames, want)
		}
	}
	for template, want := range map[string]bool{
		"metadata: {name: a}, data: {a: b}":                             false,
		"metadata: {name: a}, data: \"${parent.spec.data}\"":            false,
		"metadata: {name: a}, data: \"${lookups.s.data.map(k, k)}\"":    true,
		"metadata: {name: a}, data: {\"${variables.v}\": b}":            true,
		"metadata: {name: \"${children.b.metadata.name}-a\"}, data: {}": true,
	} {
		text := "  children:\n  - id: a\n    template: {apiVersion: v1, kind: ConfigMap, " + template + "}\n" +
			"  - id: b\n    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: \"${variables.v}\"}}\n"
		if got := compileWithin(t, lookup+text, program.Limits{}).Children[0]; got.PrivateKeys != want {
			t.Errorf("%s: the keys are private is %t, want %t", template, got.PrivateKeys, want)
		} else if named := strings.Contains(template, "children.b"); got.Private != named {
			t.Errorf("%s: the name is private is %t, want %t", template, got.Private, named)
		}
	}
	items := lookup + "  children:\n  - id: a\n    forEach: [{name: i, in: \"${lookups.s.data.map(k, k)}\"}]\n    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: \"${i}\"}}\n"
	if p := compileWithin(t, items, program.Limits{}); !p.Children[0].Private {
		t.Error("the items are from a Secret, and the names are told")
	}
	patch := lookup + "  patches:\n  - id: a\n    target: {apiVersion: v1, kind: ConfigMap, name: \"${variables.v}\"}\n    template: {data: {a: b}}\n"
	if p := compileWithin(t, patch, program.Limits{}); !p.HidesNames || !p.Patches[0].Target.Private {
		t.Error("the target is named by a Secret, and the name is told")
	}
	for name, want := range map[string]bool{"${parent.metadata.name}-x": false, "${string(parent.data.a)}": true} {
		text := "apiVersion: kanon.dev/v1alpha1\nkind: Rule\nmetadata: {name: r}\nspec:\n  parent: {apiVersion: v1, kind: Secret}\n  children:\n" +
			"  - id: a\n    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: \"" + name + "\"}}\n"
		docs, _ := syntax.Decode("f", []byte(text))
		p, findings := Compile(docs.Rules[0], Options{})
		if p == nil {
			t.Fatal(findings)
		}
		if p.Children[0].Private != want {
			t.Errorf("with a Secret as the parent, %s is private: %t, want %t", name, !want, want)
		}
	}
}
