package shortschema_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"kanon.dev/kanon/internal/controlplanetest"
	"kanon.dev/kanon/restmapping/definitions"
	"kanon.dev/kanon/rules/shortschema"
	"kanon.dev/kanon/rules/syntax"
)

func TestMain(m *testing.M) { os.Exit(controlplanetest.Main(m)) }

// TestFormsOnAPIServer: an API server takes the definition of each type and each marker with its good object, of which it makes what it should,
// and refuses the bad one.
func TestFormsOnAPIServer(t *testing.T) {
	t.Parallel()
	c, namespace := controlplanetest.Client(t), controlplanetest.Namespace(t, controlplanetest.Config(t))
	all := forms()
	properties := map[string]any{}
	names := slices.Sorted(maps.Keys(all))
	for i, name := range names {
		properties[fmt.Sprintf("c%d", i)] = all[name].read(t)
	}
	if err := controlplanetest.Define(t, c, namespace, definition(map[string]any{"type": "object", "properties": properties})); err != nil {
		t.Fatal(err)
	}
	objects := c.Resource(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "things"}).Namespace(namespace)
	for i, name := range names {
		test, field := all[name], fmt.Sprintf("c%d", i)
		create := func(value string) (made any, err error) {
			object := &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "example.com/v1", "kind": "Thing", "metadata": map[string]any{"name": field}, "spec": map[string]any{field: fieldF(t, value)},
			}}
			object, err = objects.Create(t.Context(), object, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationStrict})
			if err != nil {
				return nil, err
			}
			made, _, err = unstructured.NestedFieldNoCopy(object.Object, "spec", field, "f")
			return made, err
		}
		t.Run(name, func(t *testing.T) {
			if test.good != "" {
				made, err := create(test.good)
				if err != nil {
					t.Errorf("the API server refuses %s: %v", test.good, err)
				} else if want := fieldF(t, test.becomes)["f"]; test.becomes != "" && cmp.Diff(want, made) != "" {
					t.Errorf("the API server makes %v of %s, want %v", made, test.good, want)
				}
			}
			if test.bad == "" {
				return
			}
			if _, err := create(test.bad); err == nil {
				t.Errorf("the API server takes %s", test.bad)
			}
		})
	}
}

// TestEveryFormIsJudged: each type and each marker is in a form for which the API server has a good and a bad object. Those that restrict
// nothing have only a good one.
func TestEveryFormIsJudged(t *testing.T) {
	t.Parallel()
	restrictsNothing := []string{"any", "title", "example", "description", "printColumn", "atomic"}
	updates := "immutable" // restricts only those: TestImmutable
	judged := func(name string, is func(text string) bool) {
		good, bad := false, slices.Contains(restrictsNothing, name)
		for _, test := range forms() {
			if is(test.text) {
				good, bad = good || test.good != "", bad || test.bad != ""
			}
		}
		if !good || !bad {
			t.Errorf("%s has a good object: %t, and a bad one: %t", name, good, bad)
		}
	}
	for _, typ := range shortschema.Types() {
		judged(typ.Name, func(text string) bool { return text == "f: "+typ.Name })
	}
	for _, m := range shortschema.Markers() {
		if m.Name == updates {
			continue
		}
		judged(m.Name, func(text string) bool {
			_, markers, _ := strings.Cut(text, "|")
			return slices.ContainsFunc(strings.Fields(markers), func(word string) bool {
				name, _, _ := strings.Cut(strings.TrimRight(word, `":`), "=")
				return name == m.Name
			})
		})
	}
}

// TestImmutable: each update is refused by which a value that was set changes or goes, also with what is around it, and those are taken that
// set it for the first time or leave it as it is.
func TestImmutable(t *testing.T) {
	t.Parallel()
	const types = "types: {P: {key: string | required maxLength=9, zone: string | immutable maxLength=9}}"
	for name, test := range map[string]struct {
		schema, before, after string
		// want is a part of the refusal; empty: the update is taken.
		want string
	}{
		"changed":                       {"spec: {f: string | immutable}", "{f: a}", "{f: b}", `spec.f: Invalid value: "b": f is immutable`},
		"as it was":                     {"spec: {f: string | immutable, g: string}", "{f: a, g: x}", "{f: a, g: w}", ""},
		"removed":                       {"spec: {f: string | immutable}", "{f: a}", "{}", "f is immutable, and cannot be removed"},
		"set later":                     {"spec: {f: string | immutable}", "{}", "{f: a}", ""},
		"removed with spec":             {"spec: {f: string | immutable}", "{f: a}", absent, "spec.f is immutable, so spec cannot be removed"},
		"spec without it is removed":    {"spec: {f: string | immutable, g: string}", "{g: a}", absent, ""},
		"required, changed":             {"spec: {f: string | required immutable}", "{f: a}", "{f: b}", "f is immutable"},
		"with a default, removed":       {"spec: {f: string | default=a immutable}", "{f: b}", "{}", "f is immutable"},
		"the default, removed":          {"spec: {f: string | default=a immutable}", "{f: a}", "{}", ""},
		"to null":                       {"spec: {f: string | nullable immutable}", "{f: a}", "{f: null}", "f is immutable, and cannot be removed"},
		"from null":                     {"spec: {f: string | nullable immutable}", "{f: null}", "{f: a}", ""},
		"null, with a default":          {"spec: {f: string | nullable default=b immutable}", "{f: a}", "{f: null}", "f is immutable, and cannot be removed"},
		"removed with what is around":   {"spec: {a: {f: string | immutable, g: string}}", "{a: {f: x}}", "{}", "a.f is immutable, so a cannot be removed"},
		"around it is changed":          {"spec: {a: {f: string | immutable, g: string}}", "{a: {f: x, g: w}}", "{a: {f: x, g: z}}", ""},
		"around it without it":          {"spec: {a: {f: string | immutable, g: string}}", "{a: {g: x}}", "{}", ""},
		"around it to null":             {"spec: {a | nullable: {f: string | immutable}}", "{a: {f: x}}", "{a: null}", "a.f is immutable, so a cannot be removed"},
		"two levels up":                 {"spec: {a: {b: {f: string | immutable}}}", "{a: {b: {f: x}}}", "{}", "a.b.f is immutable, so a cannot be removed"},
		"two levels up, in part":        {"spec: {a: {b: {f: string | immutable}, c: string}}", "{a: {b: {f: x}}}", "{a: {c: x}}", "b.f is immutable, so b cannot be removed"},
		"two levels up, not set":        {"spec: {a: {b: {f: string | immutable, g: string}}}", "{a: {b: {g: x}}}", "{}", ""},
		"one of two":                    {"spec: {a: {f: string | immutable, g: string | immutable}}", "{a: {g: x}}", "{}", "a has immutable fields, and cannot be removed"},
		"none of two":                   {"spec: {a: {f: string | immutable, g: string | immutable, h: string}}", "{a: {h: x}}", "{}", ""},
		"required around it":            {"spec: {a | required: {f: string | immutable}}", "{a: {f: x}}", "{a: {}}", "f is immutable, and cannot be removed"},
		"a default around it":           {"spec: {'a | default={}': {f: string | immutable}}", "{a: {f: x}}", "{}", "f is immutable, and cannot be removed"},
		"a default in it":               {"spec: {a: {f: string | default=x immutable}}", "{a: {f: w}}", "{}", `spec.a.f: Invalid value: "x": f is immutable`},
		"the default in it":             {"spec: {a: {f: string | default=x immutable}}", "{a: {f: x}}", absent, ""},
		"a default in it, not around":   {"spec: {a: {f: string | default=x immutable, g: string | required}}", "{a: {f: w, g: x}}", "{}", "a.f is immutable, so a cannot be removed"},
		"a default in spec":             {"spec: {f: string | default=x immutable}", "{f: w}", absent, `spec.f: Invalid value: "x": f is immutable`},
		"beside a default in spec":      {"spec: {f: string | immutable, g: integer | default=1}", "{f: w}", absent, "f is immutable, and cannot be removed"},
		"a default in spec, set later":  {"spec: {f: string | immutable, g: integer | default=1}", absent, "{f: w}", ""},
		"names of CEL":                  {"spec: {a-b: {namespace: string | immutable}}", "{a-b: {namespace: x}}", "{}", "a-b.namespace is immutable, so a-b cannot be removed"},
		"an object":                     {"spec: {a | immutable: {f: string, g: string}}", "{a: {f: x}}", "{a: {f: x, g: w}}", "a is immutable"},
		"an object of anything":         {"spec: {a: object | immutable}", "{a: {f: {g: x}}}", "{a: {f: {g: w}}}", "a is immutable"},
		"an object with anything in it": {"spec: {a | immutable: {f: any, g: string}}", "{a: {f: {g: x}}}", "{a: {f: {g: w}}}", "a is immutable"},
		"an object, as it was":          {"spec: {a: object | immutable, b: string}", "{a: {f: {g: x}}}", "{a: {f: {g: x}}, b: x}", ""},
		"a list":                        {`spec: {a: "[]string | immutable maxItems=9"}`, "{a: [x]}", "{a: [x, w]}", "a is immutable"},
		"a map":                         {`spec: {a: "map[string]string | immutable maxProperties=9"}`, "{a: {b: c}}", "{a: {b: d}}", "a is immutable"},
		"a number or text":              {"spec: {a: int-or-string | immutable}", "{a: 1}", `{a: "1"}`, "a is immutable"},
		"an item":                       {`spec: {l: "[]P | uniqueBy=key maxItems=9"}` + "\n" + types, "{l: [{key: a, zone: x}]}", "{l: [{key: a, zone: w}]}", "zone is immutable"},
		"a field of an item, removed":   {`spec: {l: "[]P | uniqueBy=key maxItems=9"}` + "\n" + types, "{l: [{key: a, zone: x}]}", "{l: [{key: a}]}", "zone is immutable, and cannot be removed"},
		"another item":                  {`spec: {l: "[]P | uniqueBy=key maxItems=9"}` + "\n" + types, "{l: [{key: a, zone: x}]}", "{l: [{key: b, zone: w}, {key: a, zone: x}]}", ""},
		"an item, removed":              {`spec: {l: "[]P | uniqueBy=key maxItems=9"}` + "\n" + types, "{l: [{key: a, zone: x}]}", "{l: []}", ""},
		"a type of items":               {"spec: {l: \"[]Q | uniqueBy=key maxItems=9\"}\ntypes: {Q | immutable: {key: string | required maxLength=9, a: string | maxLength=9}}", "{l: [{key: a, a: x}]}", "{l: [{key: a, a: w}]}", "an item is immutable"},
		"a type of entries":             {"spec: {m: \"map[string]Q | maxProperties=9\"}\ntypes: {Q: string | immutable maxLength=9}", "{m: {a: x}}", "{m: {a: w}}", "an entry is immutable"},
		"another entry":                 {"spec: {m: \"map[string]Q | maxProperties=9\"}\ntypes: {Q: string | immutable maxLength=9}", "{m: {a: x}}", "{m: {a: x, b: w}}", ""},
		"in an entry":                   {`spec: {m: "map[string]P | maxProperties=9"}` + "\n" + types, "{m: {a: {key: a, zone: x}}}", "{m: {a: {key: a, zone: w}}}", "zone is immutable"},
		"a type":                        {"spec: {f: Q}\ntypes: {Q: string | immutable}", "{f: a}", "{f: b}", "f is immutable"},
		"a type, where it is not":       {"spec: {f: Q | immutable=false}\ntypes: {Q: string | immutable}", "{f: a}", "{f: b}", ""},
		"as OpenAPI":                    {"spec: {a | immutable: {openAPI: {type: string}}}", "{a: x}", "{a: w}", "a is immutable"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			crds := defined(t, test.schema)
			kinds, err := definitions.NewKinds(crds)
			if err != nil {
				t.Fatal(err)
			}
			before, after := thing(crds), thing(crds)
			for object, spec := range map[*unstructured.Unstructured]string{before: test.before, after: test.after} {
				if spec != absent {
					object.Object["spec"] = fieldF(t, spec)["f"]
				}
				kinds.Fill(object)
			}
			refused := func(err error, by string) {
				if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
					t.Errorf("%s: the update gives %v, want %q", by, err, test.want)
				}
			}
			refused(kinds.CheckObject(t.Context(), after, before), "without a cluster")
			if !slices.Contains([]string{"changed", "removed", "two levels up", "an item", "in an entry"}, name) {
				return // definitions has the tests that it judges as the API server does
			}
			objects := onServer(t, crds)
			before.SetNamespace("")
			live, err := objects.Create(t.Context(), before, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
			if err != nil {
				t.Fatal(err)
			}
			after.SetNamespace(live.GetNamespace())
			after.SetResourceVersion(live.GetResourceVersion())
			_, err = objects.Update(t.Context(), after, metav1.UpdateOptions{FieldValidation: metav1.FieldValidationStrict})
			refused(err, "the API server")
		})
	}
}

// defined gives the definition of the kind Thing with a schema.
func defined(t *testing.T, short string) []*unstructured.Unstructured {
	t.Helper()
	group := strings.ToLower(strings.NewReplacer("/", ".", "_", "-", ",", "", "'", "").Replace(t.Name())) + ".example.com"
	docs, findings := syntax.Decode("rule.yaml", []byte("apiVersion: kanon.dev/v1alpha1\nkind: Rule\nmetadata: {name: a}\nspec:\n  parent:\n    apiVersion: "+group+"/v1\n    kind: Thing\n    schema:\n      "+
		strings.ReplaceAll(short, "\n", "\n      ")+"\n"))
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	for _, p := range definitions.Check(t.Context(), docs.CRDs[0]) {
		t.Errorf("the API server refuses it: %s", p.Message)
	}
	return docs.CRDs
}

// onServer installs the definition, and gives the client of its objects in a namespace.
func onServer(t *testing.T, crds []*unstructured.Unstructured) dynamic.ResourceInterface {
	t.Helper()
	c, namespace := controlplanetest.Client(t), controlplanetest.Namespace(t, controlplanetest.Config(t))
	if err := controlplanetest.Define(t, c, namespace, crds[0]); err != nil {
		t.Fatal(err)
	}
	return c.Resource(things(crds)).Namespace(namespace)
}

// things is where the objects of the kind are.
func things(crds []*unstructured.Unstructured) schema.GroupVersionResource {
	group, _, _ := unstructured.NestedString(crds[0].Object, "spec", "group")
	return schema.GroupVersionResource{Group: group, Version: "v1", Resource: "things"}
}

// thing is an object of the kind, without spec.
func thing(crds []*unstructured.Unstructured) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": things(crds).GroupVersion().String(), "kind": "Thing", "metadata": map[string]any{"name": "a", "namespace": "default"}}}
}

// TestDefaultOfSpec: an object without spec, or without a mapping in it, has the defaults of the fields in these, unless a field is required,
// or these defaults are not what the schema takes.
func TestDefaultOfSpec(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		schema string
		// want is the default of spec in the definition, and made what an object without spec has there; absent: none.
		want, made string
	}{
		"a default":                {"spec: {replicas: integer | default=1}", "{}", "{replicas: 1}"},
		"no default":               {"spec: {replicas: integer}", absent, absent},
		"a required field":         {"spec: {replicas: integer | default=1, image: string | required}", absent, absent},
		"in a mapping":             {"spec: {a: {b: {c: string | default=x}, d: string}}", "{}", "{a: {b: {c: x}}}"},
		"a required field in it":   {"spec: {a: {b: string | required, c: string | default=x}}", absent, absent},
		"a required mapping":       {"spec: {b: string | default=x, a | required: {c: string | default=x}}", absent, absent},
		"its own default":          {"spec: {'a | default={\"c\": \"w\"}': {c: string | default=x, d: integer | default=1}}", "{}", "{a: {c: w, d: 1}}"},
		"a type":                   {"spec: {a: A}\ntypes: {A: {b: string | default=x}}", "{}", "{a: {b: x}}"},
		"a type of items":          {"spec: {a: \"[]A\"}\ntypes: {A: {b: string | default=x}}", absent, absent},
		"openAPI":                  {"spec: {openAPI: {type: object, properties: {a: {type: string, default: x}}}}", absent, absent},
		"a field with openAPI":     {"spec: {a: {openAPI: {type: string, default: x}}}", "{}", "{a: x}"},
		"entries":                  {"spec: {a | minProperties=1: {b: string | default=x}}", "{}", "{a: {b: x}}"},
		"too few entries":          {"spec: {a | minProperties=2: {b: string | default=x, c: string}}", absent, absent},
		"a validation that holds":  {"spec: {a: integer | default=1}\nvalidations: [{rule: self.a < 2}]", "{a: 1}", "{a: 1}"},
		"one that reads a mapping": {"spec: {a: {b: integer | default=1}}\nvalidations: [{rule: self.a.b < 2}]", absent, absent},
		"one of two mappings":      {"spec: {a: {b: integer | default=1}, c: {d: integer | default=1}, e: string | default=x}\nvalidations: [{rule: '!has(self.a) || !has(self.c)'}]", "{}", "{e: x}"},
		"room for one mapping":     {"spec: {'a | maxProperties=1': {b: {c: integer | default=1}, d: {e: integer | default=1}}}", absent, absent},
		"room in a type":           {"spec: {a: A | maxProperties=1}\ntypes: {A: {b: {c: integer | default=1}, d: {e: integer | default=1}}}", absent, absent},
		"one that takes it empty":  {"spec: {a: integer | default=1, b: string}\nvalidations: [{rule: '!has(self.b) || self.a > 1'}]", "{}", "{a: 1}"},
		"one that it violates":     {"spec: {a: integer | default=1, b: string}\nvalidations: [{rule: has(self.b)}]", absent, absent},
		"one that only fields do":  {"spec: {a: integer | default=1, b: string}\nvalidations: [{rule: '!has(self.a) || has(self.b)'}]", absent, absent},
		"one of the object":        {"spec: {a: integer | default=1}\nvalidations: [{rule: self.spec.a < 2, self: Object}]", "{}", "{a: 1}"},
		"one of a mapping":         {"spec: {'a | validation=\"self.b > 1\"': {b: integer | default=1}, c: string | default=x}", "{}", "{c: x}"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			crds := defined(t, test.schema)
			versions, _, _ := unstructured.NestedSlice(crds[0].Object, "spec", "versions")
			version, _ := versions[0].(map[string]any)
			is, has, _ := unstructured.NestedFieldNoCopy(version, "schema", "openAPIV3Schema", "properties", "spec", "default")
			if want := fieldF(t, test.want); has != (test.want != absent) || has && cmp.Diff(want["f"], is) != "" {
				t.Errorf("the default of spec is %v, want %s", is, test.want)
			}
			kinds, err := definitions.NewKinds(crds)
			if err != nil {
				t.Fatal(err)
			}
			made := thing(crds)
			kinds.Fill(made)
			if test.want == absent && kinds.CheckObject(t.Context(), made, nil) != nil {
				return
			}
			spec, has := made.Object["spec"]
			if want := fieldF(t, test.made); has != (test.made != absent) || has && cmp.Diff(want["f"], spec) != "" {
				t.Errorf("an object without spec gets %v, want %s", spec, test.made)
			}
		})
	}
}
