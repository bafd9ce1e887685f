package rules

import (
	"fmt"
	"strings"
	"testing"

	"kanon.dev/kanon/rules/syntax"
)

// clashRule is a rule with what stands in spec, of a parent with more than its kind.
func clashRule(t *testing.T, name, parent, spec string) *syntax.Rule {
	t.Helper()
	text := fmt.Sprintf("apiVersion: kanon.dev/v1alpha1\nkind: Rule\nmetadata: {name: %s}\nspec:\n  parent: {%s}\n%s", name, parent, spec)
	docs, findings := syntax.Decode(name+".yaml", []byte(text))
	if len(docs.Rules) != 1 {
		t.Fatalf("%v", findings)
	}
	return docs.Rules[0]
}

// Rules that run side by side are told what they do to one another's objects, and only that.
func TestClashes(t *testing.T) {
	t.Parallel()
	const (
		webapp = "apiVersion: shop.example.com/v1, kind: WebApp"
		status = "  status: {a: x}\n"
		child  = "  conditionPrefix: %s\n  children:\n  - id: %[1]s\n%s    template: {apiVersion: v1, kind: ConfigMap, metadata: {%s}}\n"
	)
	named := func(id, more, metadata string) string { return fmt.Sprintf(child, id, more, metadata) }
	for name, tt := range map[string]struct {
		parents [2]string
		specs   [2]string
		// want is what is said of the first rule, in parts; empty: nothing.
		want string
	}{
		"no prefix":               {[2]string{webapp, webapp}, [2]string{status, status}, "rule b is for objects of kind WebApp too, and both have no conditionPrefix"},
		"the same prefix":         {[2]string{webapp, webapp}, [2]string{status + "  conditionPrefix: A\n", status + "  conditionPrefix: A\n"}, `both have the conditionPrefix "A"`},
		"another version":         {[2]string{webapp, "apiVersion: shop.example.com/v2, kind: WebApp"}, [2]string{status, status}, "both have no conditionPrefix"},
		"two prefixes":            {[2]string{webapp, webapp}, [2]string{status, status + "  conditionPrefix: A\n"}, ""},
		"two kinds":               {[2]string{webapp, "apiVersion: shop.example.com/v1, kind: Fleet"}, [2]string{status, status}, ""},
		"a built-in kind":         {[2]string{"apiVersion: v1, kind: Service", "apiVersion: v1, kind: Service"}, [2]string{status, status}, ""},
		"namespaces apart":        {[2]string{webapp + ", namespaces: [a]", webapp + ", namespaces: [b]"}, [2]string{status, status}, ""},
		"a namespace in common":   {[2]string{webapp + ", namespaces: [a, b]", webapp + ", namespaces: [b]"}, [2]string{status, status}, "both have no conditionPrefix"},
		"labels apart":            {[2]string{webapp + ", selector: {matchLabels: {tier: web}}", webapp + ", selector: {matchLabels: {tier: db}}"}, [2]string{status, status}, ""},
		"labels that may be both": {[2]string{webapp + ", selector: {matchLabels: {tier: web}}", webapp + ", selector: {matchLabels: {app: db}}"}, [2]string{status, status}, "both have no conditionPrefix"},
		"a label that must be absent": {
			[2]string{webapp + ", selector: {matchLabels: {tier: web}}", webapp + ", selector: {matchExpressions: [{key: tier, operator: DoesNotExist}]}"},
			[2]string{status, status},
			"",
		},
		"two schemas": {
			[2]string{webapp + ", schema: {spec: {a: string}}", webapp + ", namespaces: [b], schema: {spec: {b: string}}"},
			[2]string{"  conditionPrefix: A\n", "  conditionPrefix: B\n"},
			"rule b has a schema for kind WebApp too: the kind gets that of the older rule",
		},
		"one schema": {[2]string{webapp + ", schema: {spec: {a: string}}", webapp}, [2]string{"  conditionPrefix: A\n", "  conditionPrefix: B\n"}, ""},
		"one object": {
			[2]string{webapp, webapp},
			[2]string{named("One", "", `name: "${parent.metadata.name}"`), named("Two", "", `name: "${parent.metadata.name}", namespace: "${parent.metadata.namespace}"`)},
			"child One is the same ConfigMap ${parent.metadata.name} as child Two of rule b",
		},
		"two names": {
			[2]string{webapp, webapp}, [2]string{named("One", "", `name: "${parent.metadata.name}"`), named("Two", "", `name: "${parent.metadata.name}-2"`)}, "",
		},
		"a name that reads something else": {
			[2]string{webapp, webapp}, [2]string{named("One", "", `name: "${variables.n}"`), named("Two", "", `name: "${variables.n}"`)}, "",
		},
		"an object that may not exist": {
			[2]string{webapp, webapp}, [2]string{named("One", "    when: ${parent.spec.on}\n", `name: x`), named("Two", "", `name: x`)}, "",
		},
		"one object of two kinds of parents": {
			[2]string{webapp, "apiVersion: v1, kind: Service"},
			[2]string{named("One", "", `name: x, namespace: y`), named("Two", "", `name: x, namespace: y`)},
			"child One is the same ConfigMap x",
		},
		"objects in two namespaces": {
			[2]string{webapp, "apiVersion: v1, kind: Service"}, [2]string{named("One", "", `name: x`), named("Two", "", `name: x`)}, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := []*syntax.Rule{clashRule(t, "a", tt.parents[0], tt.specs[0]), clashRule(t, "b", tt.parents[1], tt.specs[1])}
			found := FindClashes(all)
			if len(found[0]) != len(found[1]) {
				t.Errorf("of one rule %d are found, of the other %d", len(found[0]), len(found[1]))
			}
			if tt.want == "" && len(found[0]) > 0 || tt.want != "" && len(found[0]) != 1 {
				t.Fatalf("found %+v, want %q", found[0], tt.want)
			}
			if tt.want == "" {
				return
			}
			clash := found[0][0]
			if !strings.Contains(clash.Message, tt.want) || clash.With != all[1] || clash.Position.File != "a.yaml" || clash.Other.File != "b.yaml" {
				t.Errorf("found %+v, want %q", clash, tt.want)
			}
		})
	}
}
