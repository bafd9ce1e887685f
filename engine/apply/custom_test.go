package apply

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"

	"kanon.dev/kanon/engine/apply/applytest"
)

// gadgets is a custom resource with what custom schemas have and Go types do not.
const gadgets = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: PLURAL.apply.example.com}
spec:
  group: apply.example.com
  scope: Namespaced
  names: {plural: PLURAL, singular: SINGULAR, kind: KIND}
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
            required: [items]
            properties:
              items: {type: array, items: {type: string}}
              nullable: {type: string, nullable: true}
              mode: {type: object, properties: {}}
              selfSigned: {type: object, properties: {urls: {type: array, items: {type: string}}}}
              size: {x-kubernetes-int-or-string: true}
              free: {type: object, x-kubernetes-preserve-unknown-fields: true}
              defaulted: {type: string, default: d}
              ports:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [port, protocol]
                items:
                  type: object
                  required: [port, protocol]
                  properties: {port: {type: integer}, protocol: {type: string, default: TCP}, note: {type: string}}
          status:
            type: object
            x-kubernetes-preserve-unknown-fields: true
            properties:
              named: {type: object, additionalProperties: {type: object, additionalProperties: {type: string}}}
              conditions:
                type: array
                CONDITIONS
                items: {type: object, required: [type], properties: {type: {type: string}, status: {type: string}}}
`

// install installs a CRD of the kind and waits until its schema is published.
func (w *world) install(kind, conditions string) {
	w.t.Helper()
	singular := strings.ToLower(kind)
	crd := object(w.t, strings.NewReplacer("PLURAL", singular+"s", "SINGULAR", singular, "KIND", kind, "CONDITIONS", conditions).Replace(gadgets))
	client := w.others.Resource(resourceOf(crd))
	if _, err := client.Create(w.t.Context(), crd, metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		if err := client.Delete(context.Background(), crd.GetName(), metav1.DeleteOptions{}); err != nil {
			w.t.Error(err)
		}
		// Another run of the test makes it again.
		if err := wait.PollUntilContextTimeout(context.Background(), 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
			_, err := client.Get(ctx, crd.GetName(), metav1.GetOptions{})
			return apierrors.IsNotFound(err), nil
		}); err != nil {
			w.t.Errorf("%s does not go: %v", crd.GetName(), err)
		}
	})
	gvk := schema.GroupVersionKind{Group: "apply.example.com", Version: "v1", Kind: kind}
	// Publishing has no event; the bound is on a machine under load.
	err := wait.PollUntilContextTimeout(w.t.Context(), 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		k, err := NewAPI(nil, clusterSchemas(w.t), applytest.NoStatus).Kind(ctx, gvk)
		return err == nil && !k.Deduced, nil
	})
	if err != nil {
		w.t.Fatalf("the schema of %s: %v", gvk, err)
	}
	stream, err := client.Watch(w.t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=" + crd.GetName()})
	if err != nil {
		w.t.Fatal(err)
	}
	defer stream.Stop()
	for event := range stream.ResultChan() {
		live, ok := event.Object.(*unstructured.Unstructured)
		if !ok {
			w.t.Fatalf("watch: %v", event.Object)
		}
		list, _ := fieldValue(live, "status", "conditions").([]any)
		for _, item := range list {
			if c, ok := item.(map[string]any); ok && c["type"] == "Established" && c["status"] == "True" {
				return
			}
		}
	}
	w.t.Fatal("the watch ended before the CRD was established")
}

func TestCustomResources(t *testing.T) {
	w := newWorld(t)
	w.install("Gadget", "")
	const text = `{apiVersion: apply.example.com/v1, kind: Gadget, metadata: {name: child}, spec: {items: [], nullable: null, mode: {},
		selfSigned: {}, size: 5, free: {list: [{a: 1}, null], map: {b: c}, empty: {}}, ports: [{port: 80}, {port: 81, protocol: UDP, note: x}]}}`
	c := w.child(text)
	live := w.sync(c, nil, ActionCreated, "POST")
	w.settled(c)
	for path, want := range map[string]string{"items": "[]", "selfSigned": "map[]", "nullable": "<nil>", "defaulted": "d"} {
		v, ok, err := unstructured.NestedFieldNoCopy(live.Object, "spec", path)
		if err != nil || !ok || toText(v) != want {
			t.Errorf("spec.%s = %v (there: %t), want %s", path, v, ok, want)
		}
	}

	drifts := map[string]string{
		"an item in an empty list":     `[{"op": "add", "path": "/spec/items/-", "value": "x"}]`,
		"an empty struct removed":      `[{"op": "remove", "path": "/spec/selfSigned"}]`,
		"a null replaced":              `[{"op": "add", "path": "/spec/nullable", "value": "x"}]`,
		"a key of free data":           `[{"op": "replace", "path": "/spec/free/map/b", "value": "x"}]`,
		"a list in free data":          `[{"op": "replace", "path": "/spec/free/list/0/a", "value": 2}]`,
		"an item of a list map":        `[{"op": "remove", "path": "/spec/ports/0"}]`,
		"an int that becomes a string": `[{"op": "replace", "path": "/spec/size", "value": "5%"}]`,
	}
	values := map[string]bool{"an item in an empty list": true, "a key of free data": true, "a list in free data": true, "an int that becomes a string": true}
	for name, patch := range drifts {
		changed := w.patch("other", live, patch)
		requests := "APPLY"
		if values[name] && c.UpdatedOnly(changed) {
			requests = "PUT"
		}
		answer := w.sync(c, changed, ActionApplied, requests)
		if got, want := toText(answer.Object["spec"]), toText(live.Object["spec"]); got != want && name != "an item of a list map" {
			t.Errorf("%s: not put right: %s, want %s", name, got, want)
		}
		w.settled(c)
	}

	c = w.child(strings.Replace(text, "{port: 80}, ", "", 1))
	live = w.sync(c, w.get(live), ActionApplied, "GET JSONPATCH APPLY")
	if ports, ok := fieldValue(live, "spec", "ports").([]any); !ok || len(ports) != 1 {
		t.Errorf("ports = %v, want the second alone", fieldValue(live, "spec", "ports"))
	}
	w.settled(c)
}

func toText(v any) string { return fmt.Sprint(v) }

// TestAnApplyErasesConditionsThatAreNoListMap holds why Kanon does not apply such conditions.
func TestAnApplyErasesConditionsThatAreNoListMap(t *testing.T) {
	tests := map[string]struct {
		kind, list string
		want       int
	}{
		"atomic":   {"Atomic", "", 1},
		"list map": {"Listmap", "x-kubernetes-list-type: map\n                x-kubernetes-list-map-keys: [type]", 2},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.install(tt.kind, tt.list)
			gadget := w.post("someone", `{apiVersion: apply.example.com/v1, kind: `+tt.kind+`, metadata: {name: g}, spec: {items: []}}`)
			var live *unstructured.Unstructured
			for manager, conditionType := range map[string]string{"first": "A", "second": "B"} {
				status := w.object(`{apiVersion: apply.example.com/v1, kind: ` + tt.kind + `, metadata: {name: g},
					status: {conditions: [{type: ` + conditionType + `, status: "True"}]}}`)
				var err error
				live, err = w.client(gadget).ApplyStatus(t.Context(), "g", status, metav1.ApplyOptions{FieldManager: manager, Force: true})
				if err != nil {
					t.Fatal(err)
				}
			}
			if list, _ := fieldValue(live, "status", "conditions").([]any); len(list) != tt.want {
				t.Errorf("conditions = %v, want %d", list, tt.want)
			}
			shape, err := clusterSchemas(t).Conditions(t.Context(), gadget.GroupVersionKind())
			if err != nil || !shape.HasConditions || shape.ListMap != (tt.want == 2) {
				t.Errorf("Conditions = %+v, %v", shape, err)
			}
		})
	}
}
