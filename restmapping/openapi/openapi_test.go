package openapi

import (
	"fmt"
	"maps"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// describe writes a schema in one line, or, of an object, a line for each field
// below it. Of what contains itself it writes the name.
func describe(s *Schema) string {
	var b strings.Builder
	describeTo(&b, "", s, nil)
	return b.String()
}

func describeTo(b *strings.Builder, indent string, s *Schema, within []*Schema) {
	b.WriteString(line(s))
	for ; s != nil && s.Items != nil && s.Items != s; s = s.Items {
		within = append(within, s)
	}
	known := slices.Contains(within, s)
	if known {
		b.WriteString(" …")
	}
	b.WriteString("\n")
	if s == nil || known {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(s.Fields)) {
		f := s.Fields[name]
		mark := ""
		if f.Required {
			mark += "!"
		}
		if f.Defaulted {
			mark += "="
		}
		b.WriteString(indent + "  " + name + mark + " ")
		describeTo(b, indent+"  ", f.Schema, append(within, s))
	}
}

// line is all of a schema but its fields.
func line(s *Schema) string {
	if s == nil {
		return "any"
	}
	names := map[Type]string{
		Any: "any", Object: "object", Map: "map of", List: "list of", String: "string", Integer: "integer",
		Number: "number", Boolean: "boolean", IntOrString: "int-or-string",
	}
	words := []string{names[s.Type]}
	if s.Items == s {
		words = append(words, "…")
	} else if s.Type == Map || s.Type == List {
		words = append(words, line(s.Items))
	}
	if s.Title() != "" {
		words = append(words, s.Title())
	}
	if s.Format != "" {
		words = append(words, s.Format)
	}
	if s.Open {
		words = append(words, "open")
	}
	if s.Nullable {
		words = append(words, "nullable")
	}
	if len(s.Enum) > 0 {
		words = append(words, fmt.Sprintf("%#v", s.Enum))
	}
	if len(s.Keys) > 0 {
		words = append(words, fmt.Sprintf("by %q", s.Keys))
	}
	if len(s.KeyDefaults) > 0 {
		words = append(words, fmt.Sprintf("defaults %#v", s.KeyDefaults))
	}
	if s.Atomic {
		words = append(words, "atomic")
	}
	if s.Set {
		words = append(words, "set")
	}
	return strings.Join(words, " ")
}

var thing = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Thing"}

// crd is a definition whose spec has the schema that a YAML text says.
func crd(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	var spec any
	if err := yaml.Unmarshal([]byte(text), &spec); err != nil {
		t.Fatal(err)
	}
	version := func(name string, served bool) map[string]any {
		return map[string]any{"name": name, "served": served, "schema": map[string]any{"openAPIV3Schema": map[string]any{
			"type": "object", "required": []any{"spec", "status"},
			"properties": map[string]any{"spec": spec, "status": map[string]any{"type": "object"}, "metadata": map[string]any{"type": "object"}},
		}}}
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": "things.example.com"},
		"spec": map[string]any{
			"group": "example.com", "names": map[string]any{"kind": "Thing", "plural": "things"},
			"versions": []any{version("v1", true), version("v1alpha1", false)},
		},
	}}
}

func TestFromCRD(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ text, want string }{
		"types": {`
type: object
required: [size, text]
properties:
  size: {type: integer, format: int32, default: 3}
  text: {type: string, enum: [a, b], nullable: true}
  count: {type: integer, enum: [1, 2]}
  ratio: {type: number}
  live: {type: boolean}
  at: {type: string, format: date-time, default: null}
`, `object example.com/v1.Thing.spec
  at string date-time
  count integer []interface {}{1, 2}
  live boolean
  ratio number
  size= integer int32
  text! string nullable []interface {}{"a", "b"}
`},
		"lists and maps": {`
type: object
properties:
  names: {type: array, items: {type: string}, x-kubernetes-list-type: set}
  ports:
    type: array
    x-kubernetes-list-type: map
    x-kubernetes-list-map-keys: [port]
    items: {type: object, required: [port], properties: {port: {type: integer}}}
  defaults:
    type: array
    x-kubernetes-list-type: map
    x-kubernetes-list-map-keys: [port, protocol, size]
    items: {type: object, properties: {port: {type: integer}, protocol: {type: string, default: TCP}, size: {type: integer, default: 3}}}
  labels: {type: object, additionalProperties: {type: string}}
  selector: {type: object, additionalProperties: {type: string}, x-kubernetes-map-type: atomic}
  reference: {type: object, x-kubernetes-map-type: atomic, properties: {name: {type: string}}}
  anything: {type: object, additionalProperties: true}
`, `object example.com/v1.Thing.spec
  anything map of any
  defaults list of object example.com/v1.Thing.spec.defaults[] by ["port" "protocol" "size"] defaults []interface {}{interface {}(nil), "TCP", 3}
    port integer
    protocol= string
    size= integer
  labels map of string
  names list of string set
  ports list of object example.com/v1.Thing.spec.ports[] by ["port"]
    port! integer
  reference object example.com/v1.Thing.spec.reference atomic
    name string
  selector map of string atomic
`},
		"what is pruned and what is kept": {`
type: object
properties:
  empty: {type: object}
  open: {type: object, x-kubernetes-preserve-unknown-fields: true, properties: {a: {type: string}}}
  free: {x-kubernetes-preserve-unknown-fields: true}
  none: {type: object, additionalProperties: false}
`, `object example.com/v1.Thing.spec
  empty object example.com/v1.Thing.spec.empty
  free any
  none object example.com/v1.Thing.spec.none
  open object example.com/v1.Thing.spec.open open
    a string
`},
		"integers or strings": {`
type: object
properties:
  marked: {x-kubernetes-int-or-string: true}
  any: {anyOf: [{type: integer}, {type: string}], x-kubernetes-int-or-string: true}
  one: {oneOf: [{type: string}, {type: number}]}
  limited: {type: string, anyOf: [{format: ipv4}, {format: ipv6}]}
  mixed: {oneOf: [{type: string}, {type: object}]}
`, `object example.com/v1.Thing.spec
  any int-or-string
  limited string
  marked int-or-string
  mixed any
  one int-or-string
`},
		"nothing is known of it": {`{x-kubernetes-preserve-unknown-fields: true, type: object}`, "object example.com/v1.Thing.spec open\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kinds, err := FromCRD(crd(t, test.text))
			if err != nil {
				t.Fatal(err)
			}
			if len(kinds) != 1 || kinds.Schema(thing) == nil {
				t.Fatalf("%d kinds", len(kinds))
			}
			if diff := cmp.Diff(test.want, describe(kinds.Schema(thing).Fields["spec"].Schema)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestWholeObject(t *testing.T) {
	t.Parallel()
	kinds, err := FromCRD(crd(t, `{type: object, properties: {template: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}}}`))
	if err != nil {
		t.Fatal(err)
	}
	s := kinds.Schema(thing)
	marks := map[string]string{}
	for name, f := range s.Fields {
		marks[name] = fmt.Sprintf("required %t defaulted %t", f.Required, f.Defaulted)
	}
	if diff := cmp.Diff(map[string]string{
		"apiVersion": "required true defaulted false",
		"kind":       "required true defaulted false",
		"metadata":   "required false defaulted true",
		"spec":       "required true defaulted false",
		"status":     "required false defaulted false",
	}, marks); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	metadata := s.Fields["metadata"].Schema
	embedded := s.Fields["spec"].Schema.Fields["template"].Schema
	if !embedded.Open || embedded.Fields["kind"] == nil || embedded.Fields["metadata"] == nil {
		t.Errorf("an embedded object is %s", describe(embedded))
	}
	// Only that of an object that the API server keeps has a UID in any case.
	if plain := embedded.Fields["metadata"].Schema; plain.Name == metadata.Name || plain.Fields["uid"].Defaulted || !metadata.Fields["uid"].Defaulted {
		t.Errorf("metadata is %s, embedded %s", describe(metadata), describe(plain))
	}
	if labels := metadata.Fields["labels"]; labels.Defaulted || labels.Schema.Type != Map {
		t.Errorf("labels are %s", describe(labels.Schema))
	}
}

func TestFromCRDErrors(t *testing.T) {
	t.Parallel()
	for name, object := range map[string]map[string]any{
		"nothing":     {},
		"not a list":  {"spec": map[string]any{"group": "example.com", "versions": "all"}},
		"none served": {"spec": map[string]any{"group": "example.com", "names": map[string]any{"kind": "Thing"}, "versions": []any{map[string]any{"name": "v1"}}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if kinds, err := FromCRD(&unstructured.Unstructured{Object: object}); err == nil {
				t.Errorf("%d kinds without an error", len(kinds))
			}
		})
	}
}

// document is one with the components of a YAML text, and metadata.
func document(t *testing.T, text string) []byte {
	t.Helper()
	components := map[string]any{"io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta": map[string]any{
		"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string"}},
	}}
	if err := yaml.Unmarshal([]byte(regexp.MustCompile(`REF/([\w.]+)`).ReplaceAllString(text, `"`+componentPrefix+`$1"`)), &components); err != nil {
		t.Fatal(err)
	}
	data, err := yaml.Marshal(map[string]any{"components": map[string]any{"schemas": components}})
	if err != nil {
		t.Fatal(err)
	}
	if data, err = yaml.YAMLToJSON(data); err != nil {
		t.Fatal(err)
	}
	return data
}

const nativeThing = `
io.k8s.api.Thing:
  type: object
  properties:
    apiVersion: {type: string}
    kind: {type: string}
    metadata: {default: {}, allOf: [{$ref: REF/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta}]}
    spec: {default: {}, allOf: [{$ref: REF/io.k8s.api.ThingSpec}]}
  x-kubernetes-group-version-kind: [{group: example.com, version: v1, kind: Thing}]
io.k8s.api.ThingList:
  type: object
  properties:
    metadata: {$ref: REF/io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta}
  x-kubernetes-group-version-kind: [{group: example.com, version: v1, kind: ThingList}]
`

func TestFromDocument(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ text, want string }{
		"what Go's types look like": {`
io.k8s.api.ThingSpec:
  type: object
  required: [port, template, protocol]
  properties:
    port: {type: integer, default: 0}
    note: {type: string, default: ""}
    protocol: {type: string, default: TCP}
    template: {default: {}, allOf: [{$ref: REF/io.k8s.api.Template}]}
    raw: {$ref: REF/io.k8s.apimachinery.pkg.runtime.RawExtension}
    extra: {type: object, additionalProperties: {type: array, items: {type: string, default: ""}}}
    limit: {$ref: REF/io.k8s.apimachinery.pkg.api.resource.Quantity}
    target: {allOf: [{$ref: REF/io.k8s.apimachinery.pkg.util.intstr.IntOrString}]}
    unknown: {$ref: REF/nowhere}
    alias: {$ref: REF/io.k8s.api.Alias}
io.k8s.api.Template: {type: object, properties: {a: {type: string}}}
io.k8s.api.Alias: {$ref: REF/io.k8s.api.Template}
io.k8s.apimachinery.pkg.runtime.RawExtension: {type: object}
io.k8s.apimachinery.pkg.api.resource.Quantity: {oneOf: [{type: string}, {type: number}]}
io.k8s.apimachinery.pkg.util.intstr.IntOrString: {format: int-or-string, oneOf: [{type: integer}, {type: string}]}
`, `object io.k8s.api.ThingSpec
  alias object io.k8s.api.Template
    a string
  extra map of list of string
  limit int-or-string quantity
  note= string
  port! integer
  protocol= string
  raw any
  target int-or-string
  template! object io.k8s.api.Template
    a string
  unknown any
`},
		"what is one value, by its type or where it stands": {`
io.k8s.api.ThingSpec:
  type: object
  properties:
    selector: {$ref: REF/io.k8s.api.Selector}
    plain: {allOf: [{$ref: REF/io.k8s.api.Reference}], default: {}}
    reference: {allOf: [{$ref: REF/io.k8s.api.Reference}], x-kubernetes-map-type: atomic, nullable: true}
    ports:
      type: array
      x-kubernetes-list-type: map
      x-kubernetes-list-map-keys: [port, protocol]
      items: {allOf: [{$ref: REF/io.k8s.api.Port}], default: {}}
io.k8s.api.Selector: {type: object, x-kubernetes-map-type: atomic, properties: {a: {type: string}}}
io.k8s.api.Reference: {type: object, properties: {a: {type: string}}}
io.k8s.api.Port: {type: object, properties: {port: {type: integer}, protocol: {type: string, default: TCP}}}
`, `object io.k8s.api.ThingSpec
  plain= object io.k8s.api.Reference
    a string
  ports list of object io.k8s.api.Port by ["port" "protocol"] defaults []interface {}{interface {}(nil), "TCP"}
    port integer
    protocol= string
  reference object io.k8s.api.Reference nullable atomic
    a string
  selector object io.k8s.api.Selector atomic
    a string
`},
		"what contains itself": {`
io.k8s.api.ThingSpec:
  type: object
  properties:
    child: {$ref: REF/io.k8s.api.ThingSpec}
    nullable: {allOf: [{$ref: REF/io.k8s.api.Other}], nullable: true}
    children: {type: object, additionalProperties: {$ref: REF/io.k8s.api.ThingSpec}}
    loop: {$ref: REF/a}
    list: {$ref: REF/list}
io.k8s.api.Other: {type: object, properties: {a: {type: string}}}
a: {$ref: REF/b}
b: {$ref: REF/a}
list: {type: array, items: {$ref: REF/list}}
`, `object io.k8s.api.ThingSpec
  child object io.k8s.api.ThingSpec …
  children map of object io.k8s.api.ThingSpec …
  list list of …
  loop any
  nullable object io.k8s.api.Other nullable
    a string
`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kinds, err := FromDocument(document(t, nativeThing+test.text))
			if err != nil {
				t.Fatal(err)
			}
			if len(kinds) != 1 || kinds.Schema(thing) == nil {
				t.Fatalf("%d kinds", len(kinds))
			}
			if diff := cmp.Diff(test.want, describe(kinds.Schema(thing).Fields["spec"].Schema)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestFromDocumentErrors(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"no JSON":       "kind: Thing",
		"no components": `{"openapi": "3.0.0"}`,
		"another form":  `{"components": {"schemas": {"a": {"properties": []}}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if kinds, err := FromDocument([]byte(text)); err == nil {
				t.Errorf("%d kinds without an error", len(kinds))
			}
		})
	}
}

// TestPool holds that the same content is one schema and has one name, that other
// content has another, and that nothing is kept for nobody.
func TestPool(t *testing.T) {
	t.Parallel()
	const spec = "\nio.k8s.api.ThingSpec: {type: object, properties: {a: {$ref: REF/io.k8s.api.Part}}}\nio.k8s.api.Part: {type: object, properties: {b: {type: %s}}}"
	var pool Pool
	read := func(typ string) *Schema {
		kinds, err := pool.FromDocument(document(t, nativeThing+fmt.Sprintf(spec, typ)))
		if err != nil {
			t.Fatal(err)
		}
		return kinds.Schema(thing)
	}
	first, second, other := read("string"), read("string"), read("integer")
	if first != second {
		t.Error("the same document has two schemas")
	}
	if first.Name == other.Name || first.Title() != other.Title() || first.Title() != "example.com/v1.Thing" {
		t.Errorf("names are %q and %q", first.Name, other.Name)
	}
	if a, b := first.Fields["spec"].Schema, other.Fields["spec"].Schema; a.Name == b.Name {
		t.Errorf("what refers to something else has the same name %q", a.Name)
	}
	if first.Fields["metadata"].Schema != other.Fields["metadata"].Schema {
		t.Error("metadata is not shared")
	}
	runtime.KeepAlive(first)
	runtime.KeepAlive(second)
	runtime.KeepAlive(other)
	runtime.GC()
	last := read("boolean")
	pool.mu.Lock()
	defer pool.mu.Unlock()
	for name, s := range pool.byName {
		if s.Value() == nil {
			t.Errorf("%s is kept", name)
		}
	}
	if len(pool.byName) != 5 { // the object, its metadata, the plain one, spec, part
		t.Errorf("there are %d names: %q", len(pool.byName), slices.Sorted(maps.Keys(pool.byName)))
	}
	runtime.KeepAlive(last)
}
