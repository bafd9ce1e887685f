package openapi

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/openapi"

	"kanon.dev/kanon/internal/controlplanetest"
	"kanon.dev/kanon/restmapping"
)

var update = flag.Bool("update", false, "rewrite schemas.json.gz")

func TestMain(m *testing.M) { os.Exit(controlplanetest.Main(m)) }

// TestSchemasAreThoseOfTheControlPlane compares schemas.json.gz with what the API
// server publishes, or writes it.
func TestSchemasAreThoseOfTheControlPlane(t *testing.T) {
	client, err := discovery.NewDiscoveryClientForConfig(controlplanetest.Config(t))
	if err != nil {
		t.Fatal(err)
	}
	want := published(t, openapi.NewClientWithContext(client.RESTClient()))
	got, err := decompress(compressed)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(got, want) {
		return
	}
	if !*update {
		t.Fatalf("schemas.json.gz is not what the control plane publishes; run go generate (-want +got):\n%s",
			cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(got), "\n")))
	}
	writeCompressed(t, "schemas.json.gz", want)
}

func writeCompressed(t *testing.T, name string, data []byte) {
	t.Helper()
	var file bytes.Buffer
	writer, err := gzip.NewWriterLevel(&file, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := writer.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, file.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// published is one document of all components that the kinds of Kubernetes itself
// consist of, a line for each, without what the model does not read.
func published(t *testing.T, client openapi.ClientWithContext) []byte {
	t.Helper()
	components := componentsOf(t, client)
	reached := map[string]any{}
	var builtinKinds []string
	for name, component := range components {
		fields := component.(map[string]any)
		if _, hasMetadata, _ := unstructured.NestedFieldNoCopy(fields, "properties", "metadata"); !hasMetadata {
			delete(fields, "x-kubernetes-group-version-kind") // of DeleteOptions, other kinds in each document
		} else if !strings.HasSuffix(name, "List") {
			builtinKinds = append(builtinKinds, name)
		}
	}
	for _, name := range builtinKinds {
		reach(name, components, reached)
	}
	lines, err := json.MarshalIndent(map[string]any{"components": map[string]any{"schemas": reached}}, "", "")
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// componentsOf are the components of the documents of all groups of Kubernetes itself.
func componentsOf(t *testing.T, client openapi.ClientWithContext) map[string]any {
	t.Helper()
	table, err := restmapping.LoadBuiltin()
	if err != nil {
		t.Fatal(err)
	}
	paths, err := client.PathsWithContext(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	components := map[string]any{}
	for path, document := range paths {
		group, version, ok := strings.Cut(strings.TrimPrefix(path, "apis/"), "/")
		if path == "api/v1" {
			group, version = "", "v1"
		} else if !ok || !table.HasGroup(group) {
			continue // of another test's definitions, or without kinds
		}
		text, err := document.SchemaWithContext(t.Context(), "application/json")
		if err != nil {
			t.Fatalf("%s/%s: %v", group, version, err)
		}
		var content struct {
			Components struct{ Schemas map[string]any }
		}
		if err := json.Unmarshal(text, &content); err != nil {
			t.Fatalf("%s/%s: %v", group, version, err)
		}
		maps.Copy(components, content.Components.Schemas)
	}
	return components
}

// reach adds a component and those that it refers to.
func reach(name string, components, reached map[string]any) {
	component, there := components[name]
	if !there || reached[name] != nil {
		return
	}
	reached[name] = component // it may refer to itself
	reached[name] = reduce(component, func(ref string) { reach(ref, components, reached) })
}

// reduce drops what the model does not read of a schema.
func reduce(value any, refer func(name string)) any {
	switch v := value.(type) {
	case map[string]any:
		reduced := map[string]any{}
		for key, item := range v {
			text, isText := item.(string)
			switch {
			case isText && (key == "description" || strings.HasPrefix(key, "x-kubernetes-patch-")), key == "x-kubernetes-unions":
				continue // but not a property of that name
			case key == "$ref" && isText:
				refer(strings.TrimPrefix(text, "#/components/schemas/"))
			}
			reduced[key] = reduce(item, refer)
		}
		return reduced
	case []any:
		reduced := make([]any, len(v))
		for i, item := range v {
			reduced[i] = reduce(item, refer)
		}
		return reduced
	default:
		return v
	}
}

// TestKinds holds that every kind that can be made has a schema.
func TestKinds(t *testing.T) {
	t.Parallel()
	builtinKinds, err := BuiltinKinds()
	if err != nil {
		t.Fatal(err)
	}
	table, err := restmapping.LoadBuiltin()
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range table.Kinds() {
		s := builtinKinds.Schema(kind.GVK)
		switch {
		case s != nil && s.Fields["metadata"] != nil && s.Fields["apiVersion"].Required:
		case s == nil && !kind.Verbs.Has("get"): // reviews, which are only created
		default:
			t.Errorf("%s has no schema", kind.GVK)
		}
	}
}

// TestRequired holds that what must be there is told apart from what only the
// documents call required.
func TestRequired(t *testing.T) {
	t.Parallel()
	builtinKinds, err := BuiltinKinds()
	if err != nil {
		t.Fatal(err)
	}
	kind := func(group, name string) *Schema {
		return builtinKinds.Schema(schema.GroupVersionKind{Group: group, Version: "v1", Kind: name})
	}
	deployment := kind("apps", "Deployment").Fields["spec"].Schema
	pod := deployment.Fields["template"].Schema.Fields["spec"].Schema
	container := pod.Fields["containers"].Schema.Items
	header := container.Fields["livenessProbe"].Schema.Fields["httpGet"].Schema.Fields["httpHeaders"].Schema.Items
	for name, test := range map[string]struct {
		field *Field
		want  bool
	}{
		"a selector":                   {deployment.Fields["selector"], true},
		"a template":                   {deployment.Fields["template"], true},
		"containers":                   {pod.Fields["containers"], true},
		"a container's name":           {container.Fields["name"], true},
		"a port, whose zero is no one": {kind("", "Service").Fields["spec"].Schema.Fields["ports"].Schema.Items.Fields["port"], true},
		"a header's value":             {header.Fields["value"], false},
		"a revision":                   {kind("apps", "ControllerRevision").Fields["revision"], false},
		"the spec of a driver":         {kind("storage.k8s.io", "CSIDriver").Fields["spec"], false},
		"a flag":                       {kind("apiextensions.k8s.io", "CustomResourceDefinition").Fields["spec"].Schema.Fields["versions"].Schema.Items.Fields["served"], false},
	} {
		if test.field == nil || test.field.Required != test.want {
			t.Errorf("%s: %+v, want Required %t", name, test.field, test.want)
		}
	}
}

// TestMetadata holds that a definition's objects have the metadata that Kubernetes
// publishes.
func TestMetadata(t *testing.T) {
	t.Parallel()
	builtinKinds, err := BuiltinKinds()
	if err != nil {
		t.Fatal(err)
	}
	custom, err := FromCRD(&unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"group": "shop.example.com", "names": map[string]any{"kind": "WebApp"},
		"versions": []any{map[string]any{"name": "v1", "served": true, "schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object"}}}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	want := builtinKinds.Schema(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}).Fields["metadata"]
	got := custom.Schema(schema.GroupVersionKind{Group: "shop.example.com", Version: "v1", Kind: "WebApp"}).Fields["metadata"]
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("objectmeta.json differs (-published +embedded):\n%s", diff)
	}
}

// BenchmarkLoad also measures what the schemas of all kinds keep in memory.
func BenchmarkLoad(b *testing.B) {
	b.ReportAllocs()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var loaded Kinds
	for b.Loop() {
		var err error
		if loaded, err = loadBuiltin(); err != nil {
			b.Fatal(err)
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(after.HeapAlloc)-float64(before.HeapAlloc), "live-B")
	runtime.KeepAlive(loaded)
}
