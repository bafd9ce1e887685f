package overlay_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"kanon.dev/kanon/manifests"
	"kanon.dev/kanon/overlay"
)

func TestApply(t *testing.T) {
	t.Parallel()
	kinds, err := manifests.BuiltinKinds()
	if err != nil {
		t.Fatal(err)
	}
	deployment := schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	service := schema.GroupVersionKind{Version: "v1", Kind: "Service"}
	other := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Thing"}
	for name, tt := range map[string]struct {
		kind                         schema.GroupVersionKind
		live, before, rendered, want string
	}{
		"fields are added and changed": {
			kind: deployment,
			live: `{spec: {replicas: 1, paused: true}}`, rendered: `{spec: {replicas: 2, minReadySeconds: 3}}`,
			want: `{spec: {replicas: 2, paused: true, minReadySeconds: 3}}`,
		},
		"a field that is no longer rendered goes, and one of others stays": {
			kind: deployment,
			live: `{metadata: {labels: {a: b, c: d}}}`, before: `{metadata: {labels: {a: b}}}`, rendered: `{metadata: {}}`,
			want: `{metadata: {labels: {c: d}}}`,
		},
		"a mapping that is empty then goes": {
			kind: deployment,
			live: `{metadata: {name: n, labels: {a: b}}}`, before: `{metadata: {name: n, labels: {a: b}}}`, rendered: `{metadata: {name: n}}`,
			want: `{metadata: {name: n}}`,
		},
		"items with keys are merged, and those of others stay": {
			kind:     deployment,
			live:     `{spec: {template: {spec: {containers: [{name: web, image: a, resources: {}}, {name: side, image: s}]}}}}`,
			rendered: `{spec: {template: {spec: {containers: [{name: web, image: b}, {name: new, image: n}]}}}}`,
			want:     `{spec: {template: {spec: {containers: [{name: web, image: b, resources: {}}, {name: side, image: s}, {name: new, image: n}]}}}}`,
		},
		"an item that is no longer rendered goes": {
			kind:     deployment,
			live:     `{spec: {template: {spec: {containers: [{name: web}, {name: old}, {name: side}]}}}}`,
			before:   `{spec: {template: {spec: {containers: [{name: web}, {name: old}]}}}}`,
			rendered: `{spec: {template: {spec: {containers: [{name: web}]}}}}`,
			want:     `{spec: {template: {spec: {containers: [{name: web}, {name: side}]}}}}`,
		},
		"a key that has a default may be missing": {
			kind:     service,
			live:     `{spec: {ports: [{port: 53, protocol: UDP, name: u}, {port: 53, protocol: TCP, name: t}, {port: 80, protocol: TCP, nodePort: 30000}]}}`,
			rendered: `{spec: {ports: [{port: 80, name: web}, {port: 53, protocol: TCP, name: dns}]}}`,
			want:     `{spec: {ports: [{port: 53, protocol: UDP, name: u}, {port: 53, protocol: TCP, name: dns}, {port: 80, protocol: TCP, nodePort: 30000, name: web}]}}`,
		},
		"a set has the items of all": {
			kind: deployment,
			live: `{metadata: {finalizers: [a, b]}}`, before: `{metadata: {finalizers: [b]}}`, rendered: `{metadata: {finalizers: [c]}}`,
			want: `{metadata: {finalizers: [a, c]}}`,
		},
		"a list without keys is replaced": {
			kind:     deployment,
			live:     `{spec: {template: {spec: {containers: [{name: web, args: [a, b]}]}}}}`,
			rendered: `{spec: {template: {spec: {containers: [{name: web, args: [c]}]}}}}`,
			want:     `{spec: {template: {spec: {containers: [{name: web, args: [c]}]}}}}`,
		},
		"a kind without a schema": {
			kind: other,
			live: `{spec: {items: [{name: a}], more: 1}}`, rendered: `{spec: {items: [{name: b}]}}`,
			want: `{spec: {items: [{name: b}], more: 1}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			live, before, rendered := object(t, tt.live), object(t, tt.before), object(t, tt.rendered)
			overlay.Apply(kinds.Schema(tt.kind), live, before, rendered)
			if d := cmp.Diff(object(t, tt.want), live); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(object(t, tt.rendered), rendered); d != "" {
				t.Errorf("rendered was changed: %s", d)
			}
		})
	}
}

func object(t *testing.T, text string) map[string]any {
	t.Helper()
	if text == "" {
		return nil
	}
	var object map[string]any
	if err := yaml.Unmarshal([]byte(text), &object); err != nil {
		t.Fatal(err)
	}
	return object
}
