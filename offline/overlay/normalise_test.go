package overlay

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"kanon.dev/kanon/kinds/openapi/builtin"
)

// What the engine makes of a rendered object is known without a cluster, too. The comparison of kanon render and kanon run in examples/ shows
// that both agree.
func TestNormalise(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ rendered, want string }{
		"keys of lists get their defaults": {
			"{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {ports: [{port: 80}, {port: 53, protocol: UDP}]}}",
			"{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {ports: [{port: 80, protocol: TCP}, {port: 53, protocol: UDP}]}}",
		},
		"a Go type drops what is empty, and keeps an empty struct": {
			"{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: a, labels: {}}, spec: {podSelector: {}, egress: [], ingress: [{from: [{namespaceSelector: {}}]}]}}",
			"{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: a}, spec: {podSelector: {}, ingress: [{from: [{namespaceSelector: {}}]}]}}",
		},
		"a ConfigMap without data": {
			"{apiVersion: v1, kind: ConfigMap, metadata: {name: a, uid: u}, data: {}}", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}",
		},
		"a custom resource keeps what is empty": {
			"{apiVersion: a.b/v1, kind: C, metadata: {name: a}, spec: {list: [], map: {}}}", "{apiVersion: a.b/v1, kind: C, metadata: {name: a}, spec: {list: [], map: {}}}",
		},
		"nulls": {
			"{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {replicas: null, template: {spec: {containers: [null, {name: c}]}}}}",
			"{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {template: {spec: {containers: [{name: c}]}}}}",
		},
		"a Secret": {
			"{apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: {a: b}}", "{apiVersion: v1, kind: Secret, metadata: {name: a}, data: {a: Yg==}}",
		},
	} {
		rendered, want := objectOf(t, tt.rendered), objectOf(t, tt.want)
		before := rendered.DeepCopy()
		got := Normalise(builtin.Schemas{}.Schema(rendered.GroupVersionKind()), rendered, false)
		if diff := cmp.Diff(want.Object, got.Object); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(before.Object, rendered.Object); diff != "" {
			t.Errorf("%s changes the rendered object: %s", name, diff)
		}
	}
}

func objectOf(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &object.Object); err != nil {
		t.Fatal(err)
	}
	return object
}
