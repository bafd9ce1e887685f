package definitions_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"kanon.dev/kanon/internal/controlplanetest"
	"kanon.dev/kanon/restmapping/definitions"
)

// liveCase is a change of a definition whose objects are stored in an API server.
type liveCase struct {
	// before and after are the versions, in YAML; names are those of the kind before and after, if not walls.
	before, after           string
	namesBefore, namesAfter string
	// objects are the specs of what is stored: o0, o1, …
	objects []string
	// touch is a patch of something that no change is about. Default: of spec.other.
	touch string
	// losses are what Survey finds.
	losses string
	// dropped names the objects that lose a value in the API server, and refused those of which it refuses to change another field, or that nobody
	// can apply as they were.
	dropped, refused string
	// never is true if the API server refuses the change.
	never bool
	// unseen is true for losses that a write does not show: a default, or a version of which others make use.
	unseen bool
}

// spec is a version v1 whose spec has these properties, and other.
func specOf(properties string) string { return version("v1", stored, objectOf(properties, "")) }

// objectOf is an object with these properties, and other.
func objectOf(properties, more string) string {
	return "{type: object" + more + ", properties: {other: {type: string}" + strings.TrimSuffix(", "+properties, ", ") + "}}"
}

func liveCases() map[string]liveCase {
	inF := func(schema string) string { return specOf("f: " + schema) }
	with := func(more string) string {
		return strings.Replace(specOf("f: {type: string}"), "subresources: {status: {}}", more, 1)
	}
	const scale = "subresources: {status: {}, scale: {specReplicasPath: .spec.f, statusReplicasPath: .status.f}}"
	const port = "type: object, required: [k], properties: {k: {type: string}, z: {type: string}}"
	return map[string]liveCase{
		"names": {
			before: specOf(""), after: specOf(""), namesAfter: "scope: Namespaced, names: {kind: Wall, plural: walls, singular: mur, listKind: Murs, shortNames: [wa], categories: [kanons]}", objects: []string{"{other: x}"},
		},
		"a scope":  {before: specOf(""), after: specOf(""), namesAfter: "scope: Cluster, names: {kind: Wall, plural: walls}", never: true, objects: []string{"{}"}},
		"a plural": {before: specOf(""), after: specOf(""), namesAfter: "scope: Namespaced, names: {kind: Wall, plural: murs}", never: true, objects: []string{"{}"}},
		"a kind": {
			before: specOf(""), after: specOf(""), namesAfter: "scope: Namespaced, names: {kind: Mur, plural: walls}", objects: []string{"{}"}, never: true,
		},

		"a version that objects are stored in goes": {
			before: specOf(""), after: version("v2", stored, objectOf("", "")), objects: []string{"{}"}, never: true,
		},
		"a version goes": {
			before: specOf("") + ", " + version("v0", served, objectOf("", "")), after: specOf(""), objects: []string{"{}"}, unseen: true,
			losses: "version v0 is removed, and whoever reads through it fails, in team/o0",
		},
		"a version that is not served goes": {
			before: specOf("") + ", " + version("v0", "served: false, storage: false", objectOf("", "")), after: specOf(""), objects: []string{"{}"},
		},
		"a version is not served": {
			before: specOf("") + ", " + version("v0", served, objectOf("", "")), after: specOf("") + ", " + version("v0", "served: false, storage: false", objectOf("", "")), objects: []string{"{}"}, unseen: true,
			losses: "served of v0 is false, and was true, and whoever reads through it fails, in team/o0",
		},
		"a version is served": {
			before: specOf("") + ", " + version("v0", "served: false, storage: false", objectOf("", "")), after: specOf("") + ", " + version("v0", served, objectOf("", "")), objects: []string{"{}"},
		},
		"a version that asks more of the same fields": {
			before: specOf("f: {type: string}"), after: specOf("f: {type: string}") + ", " + version("v2", served, objectOf("f: {type: string, maxLength: 3}", ", required: [f]")), objects: []string{"{}", "{f: long}"},
		},
		"another version is stored": {
			before: specOf("f: {type: string}"), after: version("v1", served, objectOf("f: {type: string}", "")) + ", " + version("v2", stored, objectOf("", "")), objects: []string{"{other: x}", "{f: x}"}, dropped: "", unseen: true,
			losses: "spec.f: the value is dropped, in team/o1",
		},
		"deprecated": {before: specOf(""), after: version("v1", stored+", deprecated: true, deprecationWarning: use another", objectOf("", "")), objects: []string{"{}"}},
		"columns":    {before: with("subresources: {status: {}}"), after: with("subresources: {status: {}}, additionalPrinterColumns: [{name: F, type: string, jsonPath: .spec.f}]"), objects: []string{"{}"}},
		"selectable fields": {
			before: with("subresources: {status: {}}, selectableFields: [{jsonPath: .spec.f}]"), after: with("subresources: {status: {}}"), objects: []string{"{}"}, unseen: true,
			losses: "selectableFields of v1 is removed, in team/o0",
		},
		"a status": {before: with("subresources: {}"), after: with("subresources: {status: {}}"), objects: []string{"{}"}, unseen: true, losses: "subresources.status of v1 is new, in team/o0"},
		"no status": {
			before: with("subresources: {status: {}}"), after: with("subresources: {}"), objects: []string{"{}"}, unseen: true,
			losses: "subresources.status of v1 is removed, in team/o0",
		},
		"a scale":  {before: with("subresources: {status: {}}"), after: with(scale), objects: []string{"{}"}},
		"no scale": {before: with(scale), after: with("subresources: {status: {}}"), objects: []string{"{}"}, unseen: true, losses: "subresources.scale of v1 is removed, in team/o0"},

		"a new field": {before: specOf(""), after: inF("{type: string, default: x}"), objects: []string{"{other: x}"}},
		"a field goes": {
			before: inF("{type: string}"), after: specOf(""), objects: []string{"{other: x}", "{f: x}"}, dropped: "o1",
			losses: "spec.f: the value is dropped, in team/o1",
		},
		"unknown fields are not kept": {
			before: inF("{type: object, x-kubernetes-preserve-unknown-fields: true}"), after: inF("{type: object, properties: {a: {type: string}}}"), objects: []string{"{f: {a: x}}", "{f: {b: x}}"}, dropped: "o1",
			losses: "spec.f.b: the value is dropped, in team/o1",
		},
		"unknown fields are kept": {
			before: inF("{type: object, properties: {a: {type: string}}}"), after: inF("{type: object, x-kubernetes-preserve-unknown-fields: true}"), objects: []string{"{f: {a: x}}"},
		},
		"entries get a schema": {
			before: inF("{type: object, x-kubernetes-preserve-unknown-fields: true}"), after: inF("{type: object, x-kubernetes-preserve-unknown-fields: true, additionalProperties: {type: string}}"), objects: []string{"{f: {a: x}}", "{f: {a: 1}}"}, refused: "o1",
			losses: "spec.f.a: it must be of type string, and is of type integer, in team/o1",
		},
		"anything becomes a list": {
			before: inF("{x-kubernetes-preserve-unknown-fields: true}"), after: inF("{type: array, items: {type: string}}"), objects: []string{"{f: [a]}", "{f: [1]}"}, refused: "o1",

			losses: "spec.f[*]: it must be of type string, and is of type integer, in team/o1",
		},
		"a map becomes an object": {
			before: inF("{type: object, additionalProperties: {type: string}}"), after: inF("{type: object, properties: {a: {type: string}}}"), objects: []string{"{f: {a: x}}", "{f: {b: x}}"}, dropped: "o1",
			losses: "spec.f.b: the value is dropped, in team/o1",
		},
		"an object becomes a map": {
			before: inF("{type: object, properties: {a: {type: string}}}"), after: inF("{type: object, additionalProperties: {type: integer}}"), objects: []string{"{f: {a: x}}", "{f: {}}"}, refused: "o0",
			losses: "spec.f.a: it must be of type integer, and is of type string, in team/o0",
		},
		"another type": {
			before: inF("{type: integer}"), after: inF("{type: string}"), objects: []string{"{}", "{f: 5}"}, refused: "o1",
			losses: "spec.f: it must be of type string, and is of type integer, in team/o1",
		},
		"a wider type":             {before: inF("{type: integer}"), after: inF("{type: number}"), objects: []string{"{f: 5}"}},
		"another type, beside it":  {before: inF("{type: integer}"), after: specOf("f: {type: integer}, g: {type: string}"), objects: []string{"{f: 5}"}},
		"null":                     {before: inF("{type: string}"), after: inF("{type: string, nullable: true}"), objects: []string{"{f: x}"}},
		"no null":                  {before: inF("{type: string, nullable: true}"), after: inF("{type: string}"), objects: []string{"{f: x}", "{f: null}"}, dropped: "o1", losses: "spec.f: the value is dropped, in team/o1"},
		"a whole object":           {before: inF("{type: object, x-kubernetes-preserve-unknown-fields: true}"), after: inF("{type: object, x-kubernetes-preserve-unknown-fields: true, x-kubernetes-embedded-resource: true}"), objects: []string{"{f: {apiVersion: v1, kind: Pod}}", "{f: {a: b}}"}, refused: "o1", losses: "spec.f.apiVersion: it is required, and missing, in team/o1\nspec.f.kind: it is required, and missing, in team/o1"},
		"an atomic map":            {before: inF("{type: object, additionalProperties: {type: string}}"), after: inF("{type: object, additionalProperties: {type: string}, x-kubernetes-map-type: atomic}"), objects: []string{"{f: {a: x}}"}},
		"keys":                     {before: inF("{type: array, items: {" + port + "}}"), after: inF("{type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k], items: {" + port + "}}"), objects: []string{"{f: [{k: a}, {k: b}]}", "{f: [{k: a}, {k: a}]}"}, refused: "o1", losses: "spec.f[*]: it has the same item twice, in team/o1"},
		"a set":                    {before: inF("{type: array, items: {type: string}}"), after: inF("{type: array, x-kubernetes-list-type: set, items: {type: string}}"), objects: []string{"{f: [a, b]}", "{f: [a, a]}"}, refused: "o1", losses: "spec.f[*]: it has the same item twice, in team/o1"},
		"no set":                   {before: inF("{type: array, x-kubernetes-list-type: set, items: {type: string}}"), after: inF("{type: array, items: {type: string}}"), objects: []string{"{f: [a]}"}},
		"required":                 {before: inF("{type: string}"), after: version("v1", stored, objectOf("f: {type: string}", ", required: [f]")), objects: []string{"{f: x}", "{other: x}"}, refused: "o1", losses: "spec.f: it is required, and missing, in team/o1"},
		"required, with a default": {before: inF("{type: string, default: x}"), after: version("v1", stored, objectOf("f: {type: string, default: x}", ", required: [f]")), objects: []string{"{}"}},
		"not required":             {before: version("v1", stored, objectOf("f: {type: string}", ", required: [f]")), after: inF("{type: string}"), objects: []string{"{f: x}"}},
		"a default of an object":   {before: inF("{type: object, properties: {g: {type: integer, default: 1}}}"), after: inF("{type: object, default: {}, properties: {g: {type: integer, default: 1}}}"), objects: []string{"{}", "{f: {g: 2}}"}},
		"a default":                {before: inF("{type: integer}"), after: inF("{type: integer, default: 1}"), objects: []string{"{}"}},
		"another default":          {before: inF("{type: integer, default: 1}"), after: inF("{type: integer, default: 2}"), objects: []string{"{}"}},

		// What only a new value must obey.
		"bounds of values": {
			before:  specOf("a: {type: integer}, b: {type: integer, maximum: 9}, c: {type: string}, d: {type: string, maxLength: 9}, e: {type: array, items: {type: string}}, g: {type: array, maxItems: 9, items: {type: string}}, h: {type: integer}, i: {type: integer, minimum: 1}, j: {type: integer, maximum: 5}"),
			after:   specOf("a: {type: integer, minimum: 5}, b: {type: integer, maximum: 8}, c: {type: string, minLength: 5}, d: {type: string, maxLength: 1}, e: {type: array, minItems: 5, items: {type: string}}, g: {type: array, maxItems: 1, items: {type: string}}, h: {type: integer, multipleOf: 2}, i: {type: integer, minimum: 1, exclusiveMinimum: true}, j: {type: integer, maximum: 5, exclusiveMaximum: true}"),
			objects: []string{"{a: 1, b: 9, c: x, d: xx, e: [x], g: [x, x], h: 3, i: 1, j: 5}"},
		},
		"wider bounds": {
			before: specOf("a: {type: integer, minimum: 5}, b: {type: integer, maximum: 8}, c: {type: string, minLength: 1}, d: {type: string, maxLength: 1}, e: {type: array, minItems: 1, items: {type: string}}, g: {type: array, maxItems: 1, items: {type: string}}, h: {type: integer, multipleOf: 2}, i: {type: integer, minimum: 1, exclusiveMinimum: true}, j: {type: integer, maximum: 5, exclusiveMaximum: true}, m: {type: object, minProperties: 1, maxProperties: 2, additionalProperties: {type: string}}"),
			after:  specOf("a: {type: integer}, b: {type: integer, maximum: 9}, c: {type: string, minLength: 0}, d: {type: string}, e: {type: array, items: {type: string}}, g: {type: array, maxItems: 2, items: {type: string}}, h: {type: integer}, i: {type: integer, minimum: 1}, j: {type: integer, maximum: 5}, m: {type: object, maxProperties: 3, additionalProperties: {type: string}}"), objects: []string{"{a: 5, b: 8, c: x, d: x, e: [x], g: [x], h: 2, i: 2, j: 4, m: {a: x}}"},
		},
		"fewer entries": {
			before: specOf("f: {type: object, properties: {a: {type: string}, b: {type: string}}}"), after: specOf("f: {type: object, maxProperties: 1, properties: {a: {type: string}, b: {type: string}}}"), objects: []string{"{f: {a: x}}", "{f: {a: x, b: x}}"},
			touch: `{"spec":{"f":{"a":"new"}}}`, refused: "o1", losses: "spec.f: it has too many entries, in team/o1",
		},
		"more entries": {
			before: specOf("f: {type: object, properties: {a: {type: string}, b: {type: string}}}"), after: specOf("f: {type: object, minProperties: 2, properties: {a: {type: string}, b: {type: string}}}"), objects: []string{"{f: {a: x, b: x}}", "{f: {a: x}}"},
			touch: `{"spec":{"f":{"a":"new"}}}`, refused: "o1", losses: "spec.f: it should have at least 2 properties, in team/o1",
		},
		"texts": {
			before:  specOf("a: {type: string}, b: {type: string, pattern: a}, c: {type: string}, d: {type: string, format: ipv4}, e: {type: string}, g: {type: string, enum: [a, b]}, h: {type: integer, x-kubernetes-validations: [{rule: self < 9}]}, i: {type: integer}"),
			after:   specOf("a: {type: string, pattern: x}, b: {type: string, pattern: b}, c: {type: string, format: date}, d: {type: string, format: ipv6}, e: {type: string, enum: [a]}, g: {type: string, enum: [b]}, h: {type: integer, x-kubernetes-validations: [{rule: self < 5}]}, i: {type: integer, x-kubernetes-validations: [{rule: self == oldSelf}]}"),
			objects: []string{"{a: b, b: a, c: soon, d: 10.0.0.1, e: c, g: a, h: 7, i: 1}"},
		},
		"any text": {
			before: specOf("a: {type: string, pattern: x}, c: {type: string, format: date}, e: {type: string, enum: [a]}, g: {type: string, enum: [b]}"), after: specOf("a: {type: string}, c: {type: string}, e: {type: string}, g: {type: string, enum: [a, b]}"),
			objects: []string{"{a: x, c: \"2026-01-02\", e: a, g: b}"},
		},
		"immutable": {
			before: specOf("f: {type: object, properties: {a: {type: string}}}"), after: version("v1", stored, objectOf("f: {type: object, properties: {a: {type: string, x-kubernetes-validations: [{rule: self == oldSelf}]}}}", ", x-kubernetes-validations: [{rule: '!has(oldSelf.f) || has(self.f)'}]")),
			objects: []string{"{f: {a: x}}", "{}"},
		},
		"a validation of an object": {
			before: specOf("f: {type: integer}"), after: version("v1", stored, objectOf("f: {type: integer}", ", x-kubernetes-validations: [{rule: '!has(self.f) || self.f > 3'}]")), objects: []string{"{f: 5}", "{f: 1}"}, refused: "o1",
			losses: "spec: a validation is not true, in team/o1",
		},
		"one of several": {
			before: specOf("a: {type: string}, b: {type: string}"), after: version("v1", stored, objectOf("a: {type: string}, b: {type: string}", ", oneOf: [{required: [a]}, {required: [b]}]")), objects: []string{"{a: x}", "{a: x, b: x}"}, refused: "o1",
			losses: "spec: it must validate one and only one schema (oneOf). Found 2 valid alternatives, in team/o1",
		},
	}
}

// TestOnAPIServer: each kind of change that Compare knows is made with objects that are stored in an API server. It refuses those that Compare
// says it does, and objects lose what Survey says, and nothing else.
func TestOnAPIServer(t *testing.T) {
	controlplanetest.Nightly(t)
	t.Parallel()
	client := controlplanetest.Client(t)
	for name, c := range liveCases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.run(t, client, controlplanetest.Namespace(t, controlplanetest.Config(t)))
		})
	}
}

// run makes the change, and compares what becomes of the objects with what Survey finds.
func (c liveCase) run(t *testing.T, client dynamic.Interface, namespace string) {
	t.Helper()
	group := namespace + ".example.com"
	define := func(names, versions string) *unstructured.Unstructured {
		if names == "" {
			names = walls
		}
		made := definition(t, names, versions)
		for _, field := range [][]string{{"metadata", "uid"}, {"metadata", "generation"}} {
			unstructured.RemoveNestedField(made.Object, field...)
		}
		made.SetName("walls." + group)
		if err := unstructured.SetNestedField(made.Object, group, "spec", "group"); err != nil {
			t.Fatal(err)
		}
		return made
	}
	before, after := define(c.namesBefore, c.before), define(c.namesAfter, c.after)
	if err := controlplanetest.Define(t, client, namespace, before); err != nil {
		t.Fatal(err)
	}
	objects := client.Resource(schema.GroupVersionResource{Group: group, Version: "v1", Resource: "walls"}).Namespace(namespace)
	live := make([]*unstructured.Unstructured, len(c.objects))
	for i, spec := range c.objects {
		var err error
		object := parse(t, "{apiVersion: "+group+"/v1, kind: Wall, metadata: {name: o"+strconv.Itoa(i)+"}, spec: "+spec+"}")
		if live[i], err = objects.Create(t.Context(), object, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict}); err != nil {
			t.Fatal(err)
		}
	}
	compared, err := definitions.Compare(before, after)
	if err != nil {
		t.Fatal(err)
	}
	survey, err := compared.Survey()
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range live {
		if err := survey.Add(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	if compared.IsSame() || (compared.Never() != nil) != c.never || c.losses != "" && !compared.NeedsObjects() {
		t.Errorf("the changes are\n%s", compared)
	}
	var losses []string
	for _, loss := range survey.Losses() {
		losses = append(losses, strings.ReplaceAll(loss.String(), namespace+"/", "team/"))
	}
	if got := strings.Join(losses, "\n"); !c.never && got != c.losses {
		t.Errorf("the losses are\n%s\nwant\n%s", got, c.losses)
	}
	if err := controlplanetest.Define(t, client, namespace, after); (err != nil) != c.never {
		t.Fatalf("the API server says %v to the change, and it is never allowed: %t", err, c.never)
	}
	if !c.never {
		c.compare(t, objects, live)
	}
}

// compare compares what became of the objects with what the case says.
func (c liveCase) compare(t *testing.T, objects dynamic.ResourceInterface, live []*unstructured.Unstructured) {
	t.Helper()
	touch := c.touch
	if touch == "" {
		touch = `{"spec":{"other":"new"}}`
	}
	for _, was := range live {
		name := was.GetName()
		now, err := objects.Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		dropped := lacks(was.Object["spec"], now.Object["spec"])
		_, refused := objects.Patch(t.Context(), name, types.MergePatchType, []byte(touch), metav1.PatchOptions{})
		if refused == nil && !dropped {
			refused = applied(t, objects, was)
		}
		if dropped != strings.Contains(c.dropped, name) || (refused != nil) != strings.Contains(c.refused, name) {
			t.Errorf("%s has a value dropped: %t; another change of it gives %v; the spec is %v and was %v", name, dropped, refused, now.Object["spec"], was.Object["spec"])
		}
		if named := strings.Contains(c.losses, "team/"+name); named != (dropped || refused != nil) && !c.unseen {
			t.Errorf("%s is named: %t; it has a value dropped: %t; another change gives %v", name, named, dropped, refused)
		}
	}
}

// applied is why the API server refuses whoever applies an object as it was, with another field changed; nil if it does not.
func applied(t *testing.T, objects dynamic.ResourceInterface, was *unstructured.Unstructured) error {
	t.Helper()
	object := &unstructured.Unstructured{Object: map[string]any{"spec": was.DeepCopy().Object["spec"]}}
	object.SetGroupVersionKind(was.GroupVersionKind())
	object.SetName(was.GetName())
	if err := unstructured.SetNestedField(object.Object, "newer", "spec", "other"); err != nil {
		t.Fatal(err)
	}
	_, err := objects.Apply(t.Context(), was.GetName(), object, metav1.ApplyOptions{FieldManager: "test", Force: true})
	return err
}

// lacks reports whether a value that was there is gone.
func lacks(was, now any) bool {
	switch was := was.(type) {
	case map[string]any:
		now, ok := now.(map[string]any)
		for name, value := range was {
			below, has := now[name]
			ok = ok && has && !lacks(value, below)
		}
		return !ok
	case []any:
		now, ok := now.([]any)
		if !ok || len(now) != len(was) {
			return true
		}
		for i := range was {
			if lacks(was[i], now[i]) {
				return true
			}
		}
		return false
	}
	return fmt.Sprint(was) != fmt.Sprint(now)
}
