package preview_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/offline/preview"
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

// refusal is an error that quotes a value.
type refusal struct{ value string }

func (r refusal) Error() string { return "refused: " + r.value }

func (refusal) WithoutValues() error { return refusal{"(hidden)"} }

// What is said of an object of a rule that reads or writes Secrets quotes no value.
func TestRefusalsAreRedacted(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]string{"Secret": "refused: (hidden)", "ConfigMap": "refused: topsecret"} {
		p := preview.Evaluate(t.Context(), preview.Input{
			Now: time.Now(), Parent: object(t, shop),
			Check: func(_, _ *unstructured.Unstructured) error { return refusal{"topsecret"} },
			Program: programOf(t, `
  parent: {apiVersion: shop.example.com/v1, kind: Shop}
  children:
  - id: a
    template: {apiVersion: v1, kind: `+kind+`, metadata: {name: a}}`),
		})
		if refused := p.Nodes[0].Refused; len(refused) != 1 || refused[0].Err.Error() != want {
			t.Errorf("%s: %v, want %s", kind, refused, want)
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
