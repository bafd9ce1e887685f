package kanontest

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

const definition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[2]s.%[1]s}
spec:
  group: %[1]s
  scope: %[5]s
  names: {kind: %[4]s, plural: %[2]s, singular: %[3]s, listKind: %[4]sList}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, x-kubernetes-preserve-unknown-fields: true}
          status:
            type: object
            x-kubernetes-preserve-unknown-fields: true
            properties:
              conditions:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [type]
                items:
                  type: object
                  required: [type, status]
                  properties:
                    type: {type: string}
                    status: {type: string}
                    reason: {type: string}
                    message: {type: string}
                    observedGeneration: {type: integer}
                    lastTransitionTime: {type: string, format: date-time}
`

// Definition is a CustomResourceDefinition of a kind in version v1, with a free-form spec, and a status with
// conditions. The plural is the kind in lower case with an s. scope is Namespaced or Cluster.
func Definition(tb testing.TB, group, kind, scope string) *unstructured.Unstructured {
	tb.Helper()
	singular := strings.ToLower(kind)
	text := fmt.Sprintf(definition, group, singular+"s", singular, kind, scope)
	obj := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &obj.Object); err != nil {
		tb.Fatalf("decode %s: %v", text, err)
	}
	return obj
}
