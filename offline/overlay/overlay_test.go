package overlay_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"kanon.dev/kanon/kinds/openapi"
	"kanon.dev/kanon/offline/manifests"
	"kanon.dev/kanon/offline/overlay"
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
	things := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Keyed"}
	keyed, err := openapi.FromCRD(&unstructured.Unstructured{Object: object(t, keyedCRD)})
	if err != nil {
		t.Fatal(err)
	}
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
		"items that differ in a key with a default are two, over nothing": {
			kind: service,
			live: `{spec: {ports: [{port: 80, protocol: TCP}]}}`, rendered: `{spec: {ports: [{name: t, port: 53}, {name: u, port: 53, protocol: UDP}]}}`,
			want: `{spec: {ports: [{port: 80, protocol: TCP}, {name: t, port: 53}, {name: u, port: 53, protocol: UDP}]}}`,
		},
		"items that differ in a key with a default are two, in another order": {
			kind: service,
			live: `{spec: {ports: [{port: 53, protocol: UDP}, {port: 53, protocol: TCP}]}}`, rendered: `{spec: {ports: [{name: t, port: 53}, {name: u, port: 53, protocol: UDP}]}}`,
			want: `{spec: {ports: [{port: 53, protocol: UDP, name: u}, {port: 53, protocol: TCP, name: t}]}}`,
		},
		"an item goes by the default of its key": {
			kind: service,
			live: `{spec: {ports: [{port: 53, protocol: UDP}, {port: 53, protocol: TCP}]}}`, before: `{spec: {ports: [{port: 53}]}}`, rendered: `{spec: {}}`,
			want: `{spec: {ports: [{port: 53, protocol: UDP}]}}`,
		},
		"an item that has another value than the default stays": {
			kind: service,
			live: `{spec: {ports: [{port: 53, protocol: UDP}]}}`, before: `{spec: {ports: [{port: 53}]}}`, rendered: `{spec: {}}`,
			want: `{spec: {ports: [{port: 53, protocol: UDP}]}}`,
		},
		"a key without a default is missing, or has a value": {
			kind: things,
			live: `{spec: {items: [{a: x, b: y}]}}`, rendered: `{spec: {items: [{a: x, c: z}]}}`,
			want: `{spec: {items: [{a: x, b: y}, {a: x, c: z}]}}`,
		},
		"a mapping that is one value is replaced": {
			kind: service,
			live: `{spec: {selector: {app: web, tier: a}}}`, rendered: `{spec: {selector: {app: api}}}`,
			want: `{spec: {selector: {app: api}}}`,
		},
		"a mapping of a type that is one value is replaced": {
			kind: deployment,
			live: `{spec: {selector: {matchLabels: {app: web}, matchExpressions: [{key: a, operator: Exists}]}}}`, rendered: `{spec: {selector: {matchLabels: {app: api}}}}`,
			want: `{spec: {selector: {matchLabels: {app: api}}}}`,
		},
		"a mapping that is one value goes as a whole": {
			kind: deployment,
			live: `{spec: {template: {spec: {nodeSelector: {a: b, c: d}, hostNetwork: true}}}}`, before: `{spec: {template: {spec: {nodeSelector: {a: b}}}}}`, rendered: `{spec: {template: {spec: {}}}}`,
			want: `{spec: {template: {spec: {hostNetwork: true}}}}`,
		},
		"a field that is null is filled in": {
			kind: things,
			live: `{status: null}`, rendered: `{status: {a: b}}`,
			want: `{status: {a: b}}`,
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
			kind := kinds.Schema(tt.kind)
			if tt.kind == things {
				kind = keyed.Schema(tt.kind)
			}
			overlay.Apply(kind, live, before, rendered)
			if d := cmp.Diff(object(t, tt.want), live); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(object(t, tt.rendered), rendered); d != "" {
				t.Errorf("rendered was changed: %s", d)
			}
		})
	}
}

// A mapping without keys has no type in Go, which interfaces tell apart from none.
func TestApplyToANilMapping(t *testing.T) {
	t.Parallel()
	live := map[string]any{"status": map[string]any(nil)}
	overlay.Apply(nil, live, nil, map[string]any{"status": map[string]any{"a": "b"}})
	if d := cmp.Diff(map[string]any{"status": map[string]any{"a": "b"}}, live); d != "" {
		t.Error(d)
	}
}

// keyedCRD defines a kind with a list of items that are told apart by two keys, neither with a default.
const keyedCRD = `
spec:
  group: example.com
  names: {kind: Keyed}
  versions:
  - name: v1
    served: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          status: {type: object, nullable: true, additionalProperties: {type: string}}
          spec:
            type: object
            properties:
              items:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [a, b]
                items: {type: object, properties: {a: {type: string}, b: {type: string}, c: {type: string}}}
`

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
