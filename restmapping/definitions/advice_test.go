package definitions_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/restmapping/definitions"
	"kanon.dev/kanon/restmapping/openapi"
	"kanon.dev/kanon/rules"
	"kanon.dev/kanon/rules/syntax"
)

// ofSchema is the definition that a short schema makes of a kind.
func ofSchema(t *testing.T, kind, schema string) *unstructured.Unstructured {
	t.Helper()
	docs, findings := syntax.Decode("rule.yaml", fmt.Appendf(nil,
		"apiVersion: kanon.dev/v1alpha1\nkind: Rule\nmetadata: {name: wall}\nspec: {parent: {apiVersion: example.com/v1, kind: %s, schema: %s}}\n", kind, schema))
	if findings.HasErrors() || len(docs.Rules) != 1 {
		t.Fatalf("%s: %v", schema, findings)
	}
	rules.Inference{Schemas: openapi.Builtin{}}.Infer(&docs)
	return docs.Rules[0].Parent.Definition
}

// inCluster is a definition as Kanon has applied it.
func inCluster(t *testing.T, schema string) *unstructured.Unstructured {
	t.Helper()
	definition := ofSchema(t, "Wall", schema)
	definition.SetAnnotations(map[string]string{definitions.AnnotationHash: "old", definitions.AnnotationKeeper: "kanon/wall"})
	metadata, _ := definition.Object["metadata"].(map[string]any)
	metadata["managedFields"] = []any{map[string]any{"manager": definitions.Manager, "operation": "Apply"}}
	definition.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Established", "status": "True"}}}
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	for _, item := range versions {
		if version, _ := item.(map[string]any); version["storage"] == true {
			_ = unstructured.SetNestedStringSlice(definition.Object, []string{fmt.Sprint(version["name"])}, "status", "storedVersions")
		}
	}
	return definition
}

// The advice on a change that is held says how to go on, for each kind of change, and whoever follows it goes on: whoever changes the schema as it
// says, changes the objects, undoes the change, or confirms it.
func TestAdvice(t *testing.T) {
	t.Parallel()
	const (
		keepField   = "instead, keep the field, and say in its description that nobody should set it"
		otherField  = "instead, keep the type of the field, and add another field for the new one"
		sameFields  = "instead, give a required field a default, or leave the version as it is, and ask more of the same fields in another one"
		keepVersion = "instead, keep the version, with a text in deprecated, until nobody uses it"
		keepServed  = "instead, keep what is served"
		undo        = "undo the change of spec.parent.schema, or give the new kind another name"
		port        = "types: {Port: {name: string | required}}"
	)
	two := func(v1, v2 string) string {
		return "{versions: [{name: v1, stored: true, " + v1 + "}, {name: v2, " + v2 + "}]}"
	}
	for name, c := range map[string]struct {
		before, after string
		// object is one that is stored, and mended one that loses nothing: specs, or whole fields.
		object, mended string
		want           string
		// followed are schemas as the advice has them.
		followed []string
		// impossible is true if the API server does not allow the change.
		impossible bool
	}{
		"a field is removed": {
			before: "{spec: {color: string, size: integer}}", after: "{spec: {size: integer}}", object: "{color: red}", mended: "{}",
			want: keepField, followed: []string{`{spec: {color: 'string | description="nobody should set it"', size: integer}}`},
		},
		"a field of items is removed": {
			before: "{spec: {ports: '[]Port'}, types: {Port: {name: string, port: integer}}}", after: "{spec: {ports: '[]Port'}, types: {Port: {name: string}}}",
			object: "{ports: [{name: a, port: 1}]}", mended: "{ports: [{name: a}]}",
			want: keepField, followed: []string{`{spec: {ports: '[]Port'}, types: {Port: {name: string, port: 'integer | description="nobody should set it"'}}}`},
		},
		"unknown fields are not kept": {
			before: "{spec: {free: object}}", after: "{spec: {free: {a: string}}}", object: "{free: {b: c}}", mended: "{free: {a: c}}",
			want: keepField, followed: []string{"{spec: {free: {a: string, b: string}}}", "{spec: {free | preserveUnknownFields: {a: string}}}"},
		},
		"a narrower type": {
			before: "{spec: {size: int-or-string}}", after: "{spec: {size: integer}}", object: "{size: big}", mended: "{size: 5}",
			want: otherField, followed: []string{"{spec: {size: int-or-string, width: integer}}"},
		},
		"another type": {
			before: "{spec: {size: string}}", after: "{spec: {size: {a: string}}}", object: "{size: big}", mended: "{}",
			want: otherField, followed: []string{"{spec: {size: string, sizes: {a: string}}}"},
		},
		"a new required field": {
			before: "{spec: {size: integer}}", after: "{spec: {size: integer, color: string | required}}", object: "{size: 5}", mended: "{size: 5, color: red}",
			want: sameFields, followed: []string{
				"{spec: {size: integer, color: string | required default=red}}",
				two("spec: {size: integer, color: string}", "spec: {size: integer, color: string | required}"),
			},
		},
		"a new required field beside a default": {
			before: "{spec: {size: integer | default=1}}", after: "{spec: {size: integer | default=1, color: string | required}}", object: "{size: 1}", mended: "{size: 1, color: red}",
			want: sameFields, followed: []string{"{spec: {size: integer | default=1, color: string | default=red}}"},
		},
		"a validation that a default violates": {
			before: "{spec: {size: integer | default=1, color: string}}", after: "{spec: {size: integer | default=1, color: string}, validations: [{rule: has(self.color)}]}", object: "{size: 1}", mended: "{size: 1, color: red}",
			want: sameFields, followed: []string{two("spec: {size: integer | default=1, color: string}", "spec: {size: integer | default=1, color: string}, validations: [{rule: has(self.color)}]")},
		},
		"a field that becomes required": {
			before: "{spec: {color: string}}", after: "{spec: {color: string | required}}", object: "{}", mended: "{color: red}",
			want: sameFields, followed: []string{"{spec: {color: string | required default=red}}", two("spec: {color: string}", "spec: {color: string | required}")},
		},
		"a validation": {
			before: "{spec: {a: integer}}", after: "{spec: {a: integer}, validations: [{rule: '!has(self.a) || self.a > 3'}]}", object: "{a: 1}", mended: "{a: 4}",
			want: sameFields, followed: []string{two("spec: {a: integer}", "spec: {a: integer}, validations: [{rule: '!has(self.a) || self.a > 3'}]")},
		},
		"unique keys": {
			before: "{spec: {ports: '[]Port'}, " + port + "}", after: "{spec: {ports: '[]Port | uniqueBy=name'}, " + port + "}",
			object: "{ports: [{name: a}, {name: a}]}", mended: "{ports: [{name: a}]}",
			want: sameFields, followed: []string{two("spec: {ports: '[]Port'}, "+port, "spec: {ports: '[]Port | uniqueBy=name'}, "+port)},
		},
		"fewer entries": {
			before: "{spec: {free: {a: string, c: string}}}", after: "{spec: {free | maxProperties=1: {a: string, c: string}}}", object: "{free: {a: b, c: d}}", mended: "{free: {a: b}}",
			want: sameFields, followed: []string{two("spec: {free: {a: string, c: string}}", "spec: {free | maxProperties=1: {a: string, c: string}}")},
		},
		"a version less": {
			before: two("spec: {size: integer}", "spec: {size: integer}"), after: "{spec: {size: integer}}", object: "{size: 5}",
			want: keepVersion, followed: []string{two("spec: {size: integer}", "deprecated: use v1, spec: {size: integer}")},
		},
		"a version is no longer served": {
			before: two("spec: {size: integer}", "spec: {size: integer}"), after: two("spec: {size: integer}", "served: false, spec: {size: integer}"), object: "{size: 5}",
			want: keepVersion, followed: []string{two("spec: {size: integer}", "deprecated: use v1, spec: {size: integer}")},
		},
		"no subresource scale": {
			before: "{spec: {size: integer}, status: {size: integer}, scale: {specReplicas: .spec.size, statusReplicas: .status.size}}", after: "{spec: {size: integer}, status: {size: integer}}", object: "{size: 5}",
			want: keepServed, followed: []string{"{spec: {size: integer, color: string}, status: {size: integer}, scale: {specReplicas: .spec.size, statusReplicas: .status.size}}"},
		},
		"another stored version lacks a field": {
			before: "{spec: {size: integer, color: string}}", after: "{versions: [{name: v1, spec: {size: integer}}, {name: v2, stored: true, spec: {size: integer}}]}",
			object: "{color: red}", mended: "{}",
			want: keepField, followed: []string{`{versions: [{name: v1, spec: {size: integer, color: string}}, {name: v2, stored: true, spec: {size: integer, color: 'string | description="nobody should set it"'}}]}`},
		},
		"several kinds of loss": {
			before: "{spec: {color: string, size: string}}", after: "{spec: {size: integer, name: string | required}}", object: "{color: red, size: big}", mended: "{size: 5, name: a}",
			want: keepField + "\n" + sameFields + "\n" + otherField, followed: []string{"{spec: {color: string, size: string, width: integer, name: string | required default=a}}"},
		},
		"another scope": {
			before: "{spec: {size: integer}}", after: "{scope: Cluster, spec: {size: integer}}", object: "{size: 5}", want: undo, impossible: true,
		},
		"the stored version goes": {
			before: "{versions: [{name: v1, spec: {size: integer}}, {name: v0, stored: true, spec: {size: integer}}]}", after: "{spec: {size: integer}}", object: "{size: 5}",
			want: undo, impossible: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			prepare := func(kind, schema, object string, confirmed ...string) *definitions.Withheld {
				t.Helper()
				there := &cluster{definition: inCluster(t, c.before)}
				with(object)(nil, there)
				wanted := definitions.Wanted{Definition: ofSchema(t, kind, schema), Hash: "new", Keeper: "kanon/wall", Confirmed: confirmed}
				if wanted.Definition.GetName() != there.definition.GetName() {
					there.definition = nil
				}
				_, err := definitions.Prepare(t.Context(), there, wanted)
				refusal, refused := errors.AsType[*definitions.Withheld](err)
				if err != nil && !refused {
					t.Fatal(err)
				}
				return refusal
			}
			held := prepare("Wall", c.after, c.object)
			if held == nil || held.Reason != definitions.ReasonHeld {
				t.Fatalf("it is not held: %v", held)
			}
			advice := held.Advice
			if c.impossible {
				if diff := cmp.Diff(c.want, strings.Join(advice, "\n")); diff != "" || held.Token != "" {
					t.Errorf("the token is %q, the advice\n%s", held.Token, diff)
				}
				if again := prepare("Fence", c.after, c.object); again != nil {
					t.Errorf("another kind is held: %v", again)
				}
			} else {
				first, last := advice[0], advice[len(advice)-1]
				if diff := cmp.Diff(c.want, strings.Join(advice[1:len(advice)-1], "\n")); diff != "" || !strings.HasPrefix(first, "to go on, ") || !strings.HasPrefix(last, "to lose that, annotate the rule") {
					t.Errorf("the advice is %q\n%s", advice, diff)
				}
				if again := prepare("Wall", c.after, c.object, held.Token); again != nil {
					t.Errorf("a change that is confirmed is held: %v", again)
				}
			}
			for what, again := range map[string]*definitions.Withheld{"is undone": prepare("Wall", c.before, c.object), "loses nothing": prepareUnless(c.mended, func() *definitions.Withheld { return prepare("Wall", c.after, c.mended) })} {
				if again != nil {
					t.Errorf("a change that %s is held: %v", what, again)
				}
			}
			for _, schema := range c.followed {
				if again := prepare("Wall", schema, c.object); again != nil {
					t.Errorf("%s follows the advice, and is held: %v", schema, again)
				}
			}
		})
	}
}

// prepareUnless is what f finds; nil if no object loses nothing.
func prepareUnless(mended string, f func() *definitions.Withheld) *definitions.Withheld {
	if mended == "" {
		return nil
	}
	return f()
}
