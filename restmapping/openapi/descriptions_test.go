package openapi

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/openapi"

	"kanon.dev/kanon/internal/controlplanetest"
)

// TestDescriptionsAreThoseOfTheControlPlane compares descriptions.json.gz with what the API server publishes, or writes it.
func TestDescriptionsAreThoseOfTheControlPlane(t *testing.T) {
	client, err := discovery.NewDiscoveryClientForConfig(controlplanetest.Config(t))
	if err != nil {
		t.Fatal(err)
	}
	want, err := json.MarshalIndent(builtinDescribe(componentsOf(t, openapi.NewClientWithContext(client.RESTClient()))), "", "")
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		writeCompressed(t, "descriptions.json.gz", want)
		return
	}
	got, err := decompress(compressedDescriptions)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Fatalf("descriptions.json.gz is not what the control plane publishes; run go generate (-want +got):\n%s",
			cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(got), "\n")))
	}
}

// builtinDescribe takes the descriptions from the components that the kinds with schemas consist of.
func builtinDescribe(components map[string]any) *descriptions {
	made := &descriptions{Kinds: map[string]string{}, Components: map[string]map[string]described{}}
	for gvk := range must(BuiltinKinds()) {
		for name, component := range components {
			if isOf(component.(map[string]any), gvk) {
				made.Kinds[gvk.String()] = name
				made.add(name, components)
			}
		}
	}
	return made
}

func isOf(component map[string]any, gvk schema.GroupVersionKind) bool {
	builtinKinds, _ := component["x-kubernetes-group-version-kind"].([]any)
	return slices.ContainsFunc(builtinKinds, func(kind any) bool {
		of := kind.(map[string]any)
		return of["group"] == gvk.Group && of["version"] == gvk.Version && of["kind"] == gvk.Kind
	})
}

// add adds a component and those that its fields consist of.
func (d *descriptions) add(name string, components map[string]any) {
	if d.Components[name] != nil || components[name] == nil {
		return
	}
	fields := map[string]described{}
	d.Components[name] = fields
	properties, _ := components[name].(map[string]any)["properties"].(map[string]any)
	for field, property := range properties {
		of := property.(map[string]any)
		text, _ := of["description"].(string)
		_, isMap := of["additionalProperties"]
		component := componentOf(of)
		fields[field] = described{Text: text, Component: component, Map: isMap}
		d.add(component, components)
	}
}

// componentOf is the component that a schema, its items or its entries refer to.
func componentOf(of map[string]any) string {
	if ref, ok := of["$ref"].(string); ok {
		return strings.TrimPrefix(ref, "#/components/schemas/")
	}
	if all, ok := of["allOf"].([]any); ok {
		return componentOf(all[0].(map[string]any))
	}
	for _, key := range []string{"items", "additionalProperties"} {
		if inner, ok := of[key].(map[string]any); ok {
			return componentOf(inner)
		}
	}
	return ""
}

func TestDescription(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		gvk  schema.GroupVersionKind
		path []string
		want string
	}{
		"a field":            {schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, []string{"spec", "replicas"}, "Number of desired pods"},
		"a field of an item": {schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, []string{"spec", "containers", "", "image"}, "Container image name"},
		"an object":          {schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, []string{"spec"}, "Specification of the desired behavior of the pod"},
		"a list":             {schema.GroupVersionKind{Version: "v1", Kind: "Service"}, []string{"spec", "ports"}, "The list of ports"},
		"metadata":           {schema.GroupVersionKind{Version: "v1", Kind: "Service"}, []string{"metadata", "labels"}, "Map of string keys and values"},
		"an entry of a map":  {schema.GroupVersionKind{Version: "v1", Kind: "Service"}, []string{"metadata", "labels", "app"}, ""},
		"an item":            {schema.GroupVersionKind{Version: "v1", Kind: "Service"}, []string{"spec", "ports", ""}, ""},
		"no field":           {schema.GroupVersionKind{Version: "v1", Kind: "Service"}, []string{"spec", "none", "ports"}, ""},
		"no kind":            {schema.GroupVersionKind{Version: "v1", Kind: "None"}, []string{"spec"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := Description(tt.gvk, tt.path...)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(got, tt.want) || tt.want == "" && got != "" {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
