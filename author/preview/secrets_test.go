package preview_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/author/preview"
)

// Of a Secret one sees which values differ, and none of them.
func TestHideSecrets(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ before, after, wantBefore, wantAfter string }{
		"another kind": {
			before:     `{apiVersion: v1, kind: ConfigMap, data: {a: b}}`,
			wantBefore: `{apiVersion: v1, kind: ConfigMap, data: {a: b}}`,
		},
		"a created one": {
			after:     `{apiVersion: v1, kind: Secret, type: Opaque, data: {a: dg==}, stringData: {b: v}}`,
			wantAfter: `{apiVersion: v1, kind: Secret, type: Opaque, data: {a: (hidden)}, stringData: {b: (hidden)}}`,
		},
		"a deleted one": {
			before:     `{apiVersion: v1, kind: Secret, data: {a: dg==}}`,
			wantBefore: `{apiVersion: v1, kind: Secret, data: {a: (hidden)}}`,
		},
		"values that stay, change, come and go": {
			before:     `{apiVersion: v1, kind: Secret, data: {stays: dg==, changes: dg==, goes: dg==}}`,
			after:      `{apiVersion: v1, kind: Secret, data: {stays: dg==, changes: dw==, comes: dg==}}`,
			wantBefore: `{apiVersion: v1, kind: Secret, data: {stays: (hidden), changes: "(hidden, before)", goes: (hidden)}}`,
			wantAfter:  `{apiVersion: v1, kind: Secret, data: {stays: (hidden), changes: "(hidden, after)", comes: (hidden)}}`,
		},
		"a value that looks hidden": {
			before:     `{apiVersion: v1, kind: Secret, stringData: {a: (hidden) v}}`,
			wantBefore: `{apiVersion: v1, kind: Secret, stringData: {a: (hidden)}}`,
		},
		"what is no mapping": {
			before:     `{apiVersion: v1, kind: Secret, data: {a: dg==}}`,
			after:      `{apiVersion: v1, kind: Secret, data: v}`,
			wantBefore: `{apiVersion: v1, kind: Secret, data: "(hidden, before)"}`,
			wantAfter:  `{apiVersion: v1, kind: Secret, data: "(hidden, after)"}`,
		},
		"what kubectl apply has repeated": {
			before:     `{apiVersion: v1, kind: Secret, metadata: {annotations: {kubectl.kubernetes.io/last-applied-configuration: v, a: b}}}`,
			wantBefore: `{apiVersion: v1, kind: Secret, metadata: {annotations: {kubectl.kubernetes.io/last-applied-configuration: (hidden), a: b}}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before, after := objectOrNone(t, tt.before), objectOrNone(t, tt.after)
			preview.HideSecrets(before, after)
			if d := cmp.Diff(objectOrNone(t, tt.wantBefore), before); d != "" {
				t.Error("before:", d)
			}
			if d := cmp.Diff(objectOrNone(t, tt.wantAfter), after); d != "" {
				t.Error("after:", d)
			}
		})
	}
}

// What is said of an object of a rule that reads or writes Secrets quotes no value.
func TestRefusalsAreRedacted(t *testing.T) {
	t.Parallel()
	widgets := object(t, `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.shop.example.com}
spec:
  group: shop.example.com
  scope: Namespaced
  names: {kind: Widget, plural: widgets}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {size: {type: string, enum: [small]}}}`)
	for kind, quoted := range map[string]bool{"Secret": false, "ConfigMap": true} {
		p := evaluate(t, preview.Input{
			Now: time.Now(), Parent: object(t, shop), Definitions: []*unstructured.Unstructured{widgets},
			Program: programOf(t, `
  parent: {apiVersion: shop.example.com/v1, kind: Shop}
  children:
  - id: a
    template: {apiVersion: shop.example.com/v1, kind: Widget, metadata: {name: a}, spec: {size: topsecret}}
  - id: b
    template: {apiVersion: v1, kind: `+kind+`, metadata: {name: b}}`),
		})
		if refused := p.Nodes[0].Refused; len(refused) != 1 || strings.Contains(refused[0].Err.Error(), "topsecret") != quoted {
			t.Errorf("%s: %v", kind, refused)
		}
	}
}

func objectOrNone(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	if text == "" {
		return nil
	}
	return object(t, text)
}
