package apply

import (
	"context"
	"encoding/json"
	"hash/maphash"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/yaml"
)

// testSchemas has one Go type (Thing, in group test, with a metadata as every kind has) and one custom resource (Custom),
// with every relation that the checks tell apart.
const testSchemas = `
io.k8s.api.test.v1.Thing:
  type: object
  x-kubernetes-group-version-kind: [{group: test, version: v1, kind: Thing}]
  properties: &properties
    apiVersion: {type: string}
    kind: {type: string}
    metadata: {$ref: "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}
    data: {type: object, additionalProperties: {type: string}}
    status: {type: object, x-kubernetes-preserve-unknown-fields: true}
    spec:
      type: object
      properties:
        replicas: {type: integer}
        paused: {type: boolean}
        args: {type: array, items: {type: string}, x-kubernetes-list-type: atomic}
        finalizers: {type: array, items: {type: string}, x-kubernetes-list-type: set}
        selector: {type: object, x-kubernetes-map-type: atomic, additionalProperties: {type: string}}
        limits: {type: object, additionalProperties: {type: string}}
        emptyDir: {type: object, properties: {medium: {type: string}}}
        nullable: {type: string, nullable: true}
        free: {type: object}
        ports:
          type: array
          x-kubernetes-list-type: map
          x-kubernetes-list-map-keys: [port, protocol]
          items:
            type: object
            properties:
              port: {type: integer}
              protocol: {type: string, default: TCP}
              name: {type: string}
test.example.v1.Custom:
  type: object
  x-kubernetes-group-version-kind: [{group: example.test, version: v1, kind: Custom}]
  properties: *properties
io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta:
  type: object
  properties:
    name: {type: string}
    namespace: {type: string}
    uid: {type: string}
    labels: {type: object, additionalProperties: {type: string}}
    annotations: {type: object, additionalProperties: {type: string}}
    ownerReferences:
      type: array
      x-kubernetes-list-type: map
      x-kubernetes-list-map-keys: [uid]
      items:
        type: object
        x-kubernetes-map-type: atomic
        properties:
          apiVersion: {type: string}
          kind: {type: string}
          name: {type: string}
          uid: {type: string}
          controller: {type: boolean}
          blockOwnerDeletion: {type: boolean}
`

func thingGVK() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "test", Version: "v1", Kind: "Thing"}
}

// fakeSchemas answers from testSchemas; kinds that it lacks have no schema.
type fakeSchemas struct {
	converter managedfields.TypeConverter
	err       error
	// next replaces converter at the next Recheck.
	next managedfields.TypeConverter
}

type noSchema struct{}

func (noSchema) Error() string  { return "none" }
func (noSchema) NoSchema() bool { return true }

func (f *fakeSchemas) Converter(_ context.Context, gvk schema.GroupVersionKind) (managedfields.TypeConverter, error) {
	if f.err != nil {
		return nil, f.err
	}
	if _, err := newKind(gvk, f.converter, false); err != nil {
		return nil, noSchema{}
	}
	return f.converter, nil
}

func (f *fakeSchemas) Recheck(context.Context, schema.GroupVersion) (bool, error) {
	if f.next == nil {
		return false, nil
	}
	f.converter, f.next = f.next, nil
	return true, nil
}

func testConverter(tb testing.TB, text string) managedfields.TypeConverter {
	tb.Helper()
	document, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		tb.Fatal(err)
	}
	definitions := map[string]*spec.Schema{}
	if err := json.Unmarshal(document, &definitions); err != nil {
		tb.Fatal(err)
	}
	converter, err := managedfields.NewTypeConverter(definitions, false)
	if err != nil {
		tb.Fatal(err)
	}
	return converter
}

// offline returns a Writer for what sends no request.
func offline(tb testing.TB) *Writer {
	tb.Helper()
	seed := maphash.MakeSeed()
	return &Writer{
		schemas:   &fakeSchemas{converter: testConverter(tb, testSchemas)},
		marks:     testMarks(),
		nameOf:    func(id string) string { return "named-" + id },
		hasStatus: func(schema.GroupVersionKind) bool { return false },
		seed:      seed,
		shapes:    shapes{seed: seed},
		known:     map[types.UID]glance{},
	}
}

// object reads YAML.
func object(tb testing.TB, text string) *unstructured.Unstructured {
	tb.Helper()
	obj := &unstructured.Unstructured{}
	document, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		tb.Fatal(err)
	}
	if err := obj.UnmarshalJSON(document); err != nil {
		tb.Fatal(err)
	}
	return obj
}
