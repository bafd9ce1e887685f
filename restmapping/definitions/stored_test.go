package definitions_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/restmapping/definitions"
)

// strict is a kind with every sort of limit.
const strict = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gates.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Gate, plural: gates}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            maxProperties: 8
            x-kubernetes-validations: [{rule: "!has(self.low) || !has(self.high) || self.low < self.high", message: low is below high}]
            properties:
              tier: {type: string, enum: [web, worker], maxLength: 6, pattern: "^w"}
              low: {type: integer, minimum: 1}
              high: {type: integer, x-kubernetes-validations: [{rule: self < 100, message: too high}]}
              zone: {type: string, x-kubernetes-validations: [{rule: self == oldSelf, message: the zone stays}]}
              note: {type: string}
              owner: {type: object, required: [name], properties: {name: {type: string}, team: {type: string}}}
              doors: {type: array, maxItems: 2, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], items: {type: object, required: [name, width], properties: {name: {type: string}, width: {type: integer, minimum: 5}}}}
              plain: {type: array, items: {type: object, required: [name], properties: {name: {type: string, minLength: 2}}}}
              labels: {type: object, additionalProperties: {type: string, maxLength: 3}}
              free: {type: object, x-kubernetes-preserve-unknown-fields: true}
`

// What is wrong with an object that is stored counts only if it does more than to refuse a new value of the same sort.
func TestCheckStored(t *testing.T) {
	t.Parallel()
	kinds, err := definitions.NewKinds([]*unstructured.Unstructured{parse(t, strict)})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ spec, want string }{
		{`{tier: web, low: 1, high: 2, free: {a: {b: 1}}}`, ""},

		// The API server leaves such values alone. A list without keys is one value: whoever changes it gives all of it.
		{`{tier: db}`, ""},
		{`{tier: web-of-things}`, ""},
		{`{low: -1}`, ""},
		{`{high: 1000}`, ""},
		{`{zone: a}`, ""},
		{`{labels: {a: long enough}}`, ""},
		{`{doors: [{name: a, width: 1}]}`, ""},
		{`{plain: [{name: x}]}`, ""},
		{`{plain: [{}]}`, ""},
		{`{low: 1, free: {low: 9, doors: [{a: 1}]}}`, ""},

		// It refuses changes of what is around these.
		{`{owner: {team: a}}`, "Blocking spec.owner.name: it is required, and missing"},
		{`{doors: [{name: a}]}`, "Blocking spec.doors[0].width: it is required, and missing"},
		{`{low: 5, high: 3}`, "Blocking spec: a validation is not true"},
		{`{low: "5", owner: {}}`, "WrongType spec.low: it must be of type integer, and is of type string\nBlocking spec.owner.name: it is required, and missing"},
		{`{tier: db, owner: {}}`, "Blocking spec.owner.name: it is required, and missing"},
		{`{doors: [{name: a, width: 5}, {name: a, width: 6}]}`, "Blocking spec.doors[1]: it has the same item twice"},
		{`{doors: [{name: a, width: 5}, {name: b, width: 6}, {name: c, width: 7}]}`, "Blocking spec.doors: it has too many entries"},
		{`{tier: web, low: 1, high: 2, zone: a, note: b, owner: {name: a}, doors: [], plain: [], labels: {}}`, "Blocking spec: it has too many entries"},

		{`{low: "5"}`, "WrongType spec.low: it must be of type integer, and is of type string"},
		{`{plain: [{name: 5}]}`, "WrongType spec.plain[0].name: it must be of type string, and is of type integer"},
		{`{old: 1, owner: {name: a, x: {y: 1}}, doors: [{name: a, width: 7, z: 1}]}`, "Pruned spec.doors[0].z: the value is dropped\nPruned spec.old: the value is dropped\nPruned spec.owner.x: the value is dropped"},
		{`{tier: null}`, "Pruned spec.tier: the value is dropped"},
	} {
		spec, want := c.spec, c.want
		object := parse(t, "{apiVersion: example.com/v1, kind: Gate, metadata: {name: g, namespace: ns}, spec: "+spec+"}")
		before := object.DeepCopy()
		losses, err := kinds.CheckStored(t.Context(), object)
		if err != nil {
			t.Fatal(err)
		}
		lines := make([]string, len(losses))
		for i, loss := range losses {
			lines[i] = fmt.Sprintf("%s %s: %s", [...]string{"Pruned", "WrongType", "Blocking"}[loss.Kind], loss.Path, loss.Message)
		}
		if got := strings.Join(lines, "\n"); got != want {
			t.Errorf("%s:\n got %s\nwant %s", spec, got, want)
		}
		if diff := cmp.Diff(before, object); diff != "" {
			t.Errorf("%s: the object was changed:\n%s", spec, diff)
		}
	}
}
