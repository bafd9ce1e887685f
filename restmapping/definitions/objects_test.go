package definitions_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"kanon.dev/kanon/restmapping/definitions"
)

const shop = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: shops.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Shop, plural: shops}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            required: [color]
            x-kubernetes-validations: [{rule: "self.size < 5 || self.color == 'red'", message: large ones are red}]
            properties:
              color: {type: string, default: red, enum: [red, blue]}
              size: {type: integer, default: 1}
              zone: {type: string, x-kubernetes-validations: [{rule: self == oldSelf, message: the zone stays}]}
              doors: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], items: {type: object, required: [name], properties: {name: {type: string}, width: {type: integer}}}}
          status: {type: object, properties: {open: {type: boolean}}}
`

func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(data); err != nil {
		t.Fatal(err)
	}
	return u
}

// What the API server refuses in objects is refused, with its reasons, and nothing else is.
func TestRefusalWithoutValues(t *testing.T) {
	t.Parallel()
	refusal := &definitions.Refusal{Object: parse(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: ns}}"), Reasons: []string{
		`metadata.labels: Invalid value: "v: w": a valid label must be …`, `spec.zone: Required value`, `unknown field "spec.x"`,
		`metadata.name: Invalid value: "a": must be …`,
	}}
	want := `the API server refuses ConfigMap ns/a: metadata.labels: Invalid value; spec.zone: Required value; unknown field "spec.x"; metadata.name: Invalid value: "a": must be …`
	if got := refusal.WithoutValues().Error(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// A status is checked when it is written, and an object that is written keeps the one that it has.
func TestCheckStatus(t *testing.T) {
	t.Parallel()
	const root = "      openAPIV3Schema:\n        type: object\n"
	frozen := strings.Replace(shop, root, root+"        x-kubernetes-validations: [{rule: \"!has(oldSelf.status) || !oldSelf.status.open || self.spec == oldSelf.spec\", message: it is open}]\n", 1)
	kinds, err := definitions.NewKinds([]*unstructured.Unstructured{parse(t, frozen)})
	if err != nil {
		t.Fatal(err)
	}
	const a = "{apiVersion: example.com/v1, kind: Shop, metadata: {name: a, namespace: ns}, "
	for name, c := range map[string]struct{ object, old, wantObject, wantStatus string }{
		"one that fits":            {object: a + "spec: {}, status: {open: true}}"},
		"none":                     {object: a + "spec: {}}"},
		"another type":             {object: a + "spec: {}, status: {open: 5}}", wantStatus: "status.open: Invalid value"},
		"an unknown field":         {object: a + "spec: {}, status: {opne: true}}", wantStatus: `unknown field "status.opne", did you mean "open"?`},
		"a validation that reads":  {object: a + "spec: {size: 2}, status: {open: false}}", old: a + "spec: {}, status: {open: true}}", wantObject: "it is open", wantStatus: "it is open"},
		"one that does not matter": {object: a + "spec: {size: 2}, status: {open: true}}", old: a + "spec: {}, status: {open: false}}"},
	} {
		object := parse(t, c.object)
		var old *unstructured.Unstructured
		if c.old != "" {
			old = parse(t, c.old)
		}
		for what, got := range map[string]struct {
			err  error
			want string
		}{
			"the object": {kinds.CheckObject(t.Context(), object, old), c.wantObject}, "the status": {kinds.CheckStatus(t.Context(), object, old), c.wantStatus},
		} {
			if got.want == "" && got.err != nil || got.want != "" && (got.err == nil || !strings.Contains(got.err.Error(), got.want)) {
				t.Errorf("%s: %s: %v, want %q", name, what, got.err, got.want)
			}
		}
	}
}

// An object is read in another version as the API server serves it.
func TestServe(t *testing.T) {
	t.Parallel()
	const former = `  - name: v1beta1
    served: true
    storage: false
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {color: {type: string, default: blue}, pattern: {type: string}}}}}}
`
	two := shop + former
	read := func(text string) definitions.Kinds {
		kinds, err := definitions.NewKinds([]*unstructured.Unstructured{parse(t, text)})
		if err != nil {
			t.Fatal(err)
		}
		return kinds
	}
	of := func(version, spec string) string {
		return "{apiVersion: example.com/" + version + ", kind: Shop, metadata: {name: a}, spec: " + spec + "}"
	}
	for name, c := range map[string]struct {
		kinds        definitions.Kinds
		object, want string
	}{
		"the same version": {read(two), of("v1", "{size: 2}"), of("v1", "{size: 2}")},
		"another version":  {read(two), of("v1beta1", "{pattern: dots}"), of("v1", "{color: blue, size: 1}")},
		"one that is not served": {
			read(strings.Replace(two, "served: true\n    storage: false", "served: false\n    storage: false", 1)), of("v1beta1", "{}"), "",
		},
		"a webhook": {
			read(strings.Replace(two, "  scope:", "  conversion: {strategy: Webhook}\n  scope:", 1)), of("v1beta1", "{}"), "",
		},
		"another kind": {read(two), "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}", ""},
	} {
		object, want := parse(t, c.object), c.object
		served := c.kinds.Serve(object, parse(t, of("v1", "{}")).GroupVersionKind())
		if c.want != "" {
			want = c.want
		}
		if diff := cmp.Diff(parse(t, want), object); diff != "" || served != (c.want != "") {
			t.Errorf("%s: served is %t\n%s", name, served, diff)
		}
	}
}

func TestCheckObject(t *testing.T) {
	t.Parallel()
	kinds, err := definitions.NewKinds([]*unstructured.Unstructured{parse(t, shop)})
	if err != nil {
		t.Fatal(err)
	}
	const a = "{apiVersion: example.com/v1, kind: Shop, metadata: {name: a, namespace: ns}, "
	for name, c := range map[string]struct{ object, old, want string }{
		"defaults are filled in":    {object: a + "spec: {}}"},
		"the status is not written": {object: a + "spec: {}, status: {open: 5, other: 1}}"},
		"an owner without uid":      {object: "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: ns, ownerReferences: [{apiVersion: v1, kind: Pod, name: p}]}}"},
		"an unknown field":          {object: a + "spec: {colour: red}}", want: `unknown field "spec.colour", did you mean "color"?`},
		"one in an item":            {object: a + "spec: {doors: [{name: a, widht: 1}]}}", want: `unknown field "spec.doors[0].widht", did you mean "width"?`},
		"one that is like no other": {object: a + "spec: {}, zzzzz: 1}", want: `unknown field "zzzzz"`},
		"one in the metadata":       {object: "{apiVersion: example.com/v1, kind: Shop, metadata: {name: a, namespace: ns, lables: {}}, spec: {}}", want: `unknown field "metadata.lables"`},
		"another type":              {object: a + "spec: {size: large}}", want: `spec.size: Invalid value: "string": spec.size in body must be of type integer: "string"`},
		"another value":             {object: a + "spec: {color: green}}", want: `spec.color: Unsupported value: "green": supported values: "red", "blue"`},
		"items with one key":        {object: a + "spec: {doors: [{name: a}, {name: a}]}}", want: `spec.doors[1]: Duplicate value: {"name":"a"}`},
		"a validation rule":         {object: a + "spec: {size: 7, color: blue}}", want: `spec: Invalid value: large ones are red`},
		"a transition":              {object: a + "spec: {zone: east}}", old: a + "spec: {zone: west}}", want: `spec.zone: Invalid value: "east": the zone stays`},
		"a transition to the same":  {object: a + "spec: {zone: east}}", old: a + "spec: {zone: east, size: 2}}"},
		"no namespace":              {object: "{apiVersion: example.com/v1, kind: Shop, metadata: {name: a}, spec: {}}", want: "metadata.namespace: Required value"},
		"a long name":               {object: "{apiVersion: v1, kind: Service, metadata: {namespace: ns, name: " + strings.Repeat("a", 64) + "}}", want: "must be no more than 63 characters"},
		"a name that others have":   {object: "{apiVersion: v1, kind: ConfigMap, metadata: {namespace: ns, name: " + strings.Repeat("a", 64) + "}}"},
		"one for RBAC":              {object: "{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {namespace: ns, name: 'system:A'}}"},
		"a label":                   {object: "{apiVersion: v1, kind: ConfigMap, metadata: {namespace: ns, name: a, labels: {a: 'b c'}}}", want: `metadata.labels: Invalid value: "b c"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			object := parse(t, c.object)
			var old *unstructured.Unstructured
			if c.old != "" {
				old = parse(t, c.old)
			}
			before := object.DeepCopy()
			err := kinds.CheckObject(t.Context(), object, old)
			switch {
			case c.want == "" && err != nil:
				t.Error(err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("%v, want %s", err, c.want)
			}
			if diff := cmp.Diff(before, object); diff != "" {
				t.Errorf("the object was changed: %s", diff)
			}
		})
	}
}
