package openapi

import (
	"context"
	"errors"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/openapi"
	"sigs.k8s.io/yaml"

	"kanon.dev/kanon/internal/controlplanetest"
)

func onServer(t *testing.T) *Published {
	t.Helper()
	client, err := discovery.NewDiscoveryClientForConfig(controlplanetest.Config(t))
	if err != nil {
		t.Fatal(err)
	}
	return NewPublished(openapi.NewClientWithContext(client.RESTClient()))
}

func TestBuiltInKinds(t *testing.T) {
	s := onServer(t)
	const every, older = "status reason message observedGeneration lastTransitionTime", "status reason message lastTransitionTime"
	tests := map[string]struct {
		gvk  schema.GroupVersionKind
		want ConditionsShape
	}{
		"ConfigMap":  {schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, ConditionsShape{}},
		"Service":    {schema.GroupVersionKind{Version: "v1", Kind: "Service"}, ConditionsShape{HasStatus: true, HasConditions: true, ListMap: true, Fields: every}},
		"Deployment": {schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, ConditionsShape{HasStatus: true, HasGeneration: true, HasConditions: true, ListMap: true, Fields: older}},
		"Ingress":    {schema.GroupVersionKind{Group: "networking.k8s.io", Version: "v1", Kind: "Ingress"}, ConditionsShape{HasStatus: true}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := s.Conditions(t.Context(), tt.gvk)
			if err != nil || got != tt.want {
				t.Errorf("Conditions = %+v, %v; want %+v", got, err, tt.want)
			}
		})
	}
	if len(s.entries) != 3 {
		t.Errorf("%d group-versions loaded, want the three that were asked for", len(s.entries))
	}
}

// TestKindsAreThoseThatAreBuiltIn holds that what a server publishes and what is embedded come to the same.
func TestKindsAreThoseThatAreBuiltIn(t *testing.T) {
	s := onServer(t)
	kinds, err := BuiltinKinds()
	if err != nil {
		t.Fatal(err)
	}
	for _, gvk := range []schema.GroupVersionKind{
		{Version: "v1", Kind: "Pod"},
		{Group: "apps", Version: "v1", Kind: "Deployment"},
		{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"},
	} {
		live, err := s.Kind(t.Context(), gvk)
		if err != nil {
			t.Fatal(err)
		}
		if want := kinds.Schema(gvk).Name; live.Name != want { // which has a hash of the content
			t.Errorf("the server's is %s, the built-in one %s", live.Name, want)
		}
	}
	pod, err1 := s.Kind(t.Context(), schema.GroupVersionKind{Version: "v1", Kind: "Pod"})
	deployment, err2 := s.Kind(t.Context(), schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"})
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	template := deployment.Fields["spec"].Schema.Fields["template"].Schema
	of := func(spec *Field) *Schema { return spec.Schema.Fields["affinity"].Schema }
	if of(pod.Fields["spec"]) != of(template.Fields["spec"]) {
		t.Error("two documents do not share what a PodSpec consists of")
	}
}

const widgets = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.schemas.example.com}
spec:
  group: schemas.example.com
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object}}}}
`

// TestACustomResourceThatAppearsChangesAndGoes follows a CRD with the calls that the engine makes.
func TestACustomResourceThatAppearsChangesAndGoes(t *testing.T) {
	s := onServer(t)
	widget := schema.GroupVersionKind{Group: "schemas.example.com", Version: "v1", Kind: "Widget"}
	client, err := dynamic.NewForConfig(controlplanetest.Config(t))
	if err != nil {
		t.Fatal(err)
	}
	crds := client.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	crd := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(widgets), &crd.Object); err != nil {
		t.Fatal(err)
	}
	// eventually polls, because publishing has no event; the bound is on a machine under load.
	eventually := func(what string, done func(ctx context.Context) bool) {
		t.Helper()
		start := time.Now()
		if err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
			return done(ctx), nil
		}); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		t.Logf("%s after %s", what, time.Since(start).Round(10*time.Millisecond))
	}

	if _, err := crds.Create(t.Context(), crd, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	s.Forget(widget.GroupVersion())
	eventually("published", func(ctx context.Context) bool {
		_, err := s.Converter(ctx, widget)
		if errors.Is(err, ErrNoSchema) {
			t.Fatal("said to have no schema while it was being published")
		}
		return err == nil
	})

	patch := `[{"op": "add", "path": "/spec/versions/0/schema/openAPIV3Schema/properties/status", "value": {"type": "object"}}]`
	if _, err := crds.Patch(t.Context(), crd.GetName(), types.JSONPatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	s.Forget(widget.GroupVersion())
	eventually("changed", func(ctx context.Context) bool {
		shape, err := s.Conditions(ctx, widget)
		return err == nil && shape.HasStatus
	})
	if kind, err := s.Kind(t.Context(), widget); err != nil || kind.Fields["status"] == nil {
		t.Errorf("Kind: %v, without the status that the document has", err)
	}

	if err := crds.Delete(t.Context(), crd.GetName(), metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.Forget(widget.GroupVersion())
	eventually("gone", func(ctx context.Context) bool {
		_, err := s.Converter(ctx, widget)
		return err != nil
	})
	eventually("free for another run", func(ctx context.Context) bool {
		_, err := crds.Get(ctx, crd.GetName(), metav1.GetOptions{})
		return err != nil
	})
}
