// Package applytest has what the tests of package apply and its rooms share: a small schema, and objects in YAML.
//
//	obj := applytest.Object(t, "{apiVersion: test/v1, kind: Thing, metadata: {name: a}}")
//	converter := applytest.Converter(t, applytest.Schemas)
package applytest

import (
	"encoding/json"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/yaml"
)

// Schemas has one Go type (Thing, in group test, with metadata as every kind has it) and one custom resource
// (Custom), with every kind of field that the checks distinguish.
const Schemas = `
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

// ThingGVK is the kind Thing of Schemas.
func ThingGVK() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "test", Version: "v1", Kind: "Thing"}
}

// NoStatus has no kind with a status subresource.
func NoStatus(schema.GroupVersionKind) bool { return false }

// Converter parses schemas in YAML.
func Converter(tb testing.TB, text string) managedfields.TypeConverter {
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

// Object parses YAML.
func Object(tb testing.TB, text string) *unstructured.Unstructured {
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

// Managed returns a managedFields item.
func Managed(tb testing.TB, manager, operation, apiVersion, fields string) map[string]any {
	tb.Helper()
	var decoded map[string]any
	if err := json.Unmarshal([]byte(fields), &decoded); err != nil {
		tb.Fatalf("%s: %v", fields, err)
	}
	return map[string]any{
		"manager": manager, "operation": operation, "apiVersion": apiVersion, "fieldsType": "FieldsV1", "fieldsV1": decoded,
	}
}

// WithManaged returns a copy of obj with managedFields.
func WithManaged(obj *unstructured.Unstructured, items ...map[string]any) *unstructured.Unstructured {
	obj = obj.DeepCopy()
	list := make([]any, len(items))
	for i, item := range items {
		list[i] = item
	}
	metadata, _ := obj.Object["metadata"].(map[string]any)
	metadata["managedFields"] = list
	return obj
}
