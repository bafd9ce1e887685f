package restmapping

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/yaml"

	"kanon.dev/kanon/internal/controlplanetest"
)

var update = flag.Bool("update", false, "rewrite kinds.txt")

// TestKindsAreThoseOfTheControlPlane compares kinds.txt with what the API server
// says of itself, or writes it.
func TestKindsAreThoseOfTheControlPlane(t *testing.T) {
	config := controlplanetest.Config(t)
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	info, err := client.ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	mapper, err := New(Options{Config: config})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := mapper.Kind(t.Context(), schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}); err != nil {
		t.Fatal(err)
	}
	want := format(info.GitVersion, mapper.Kinds())
	if *update {
		if err := os.WriteFile("kinds.txt", []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, kindsText); diff != "" {
		t.Errorf("kinds.txt is not what the control plane says; run go generate (-want +got):\n%s", diff)
	}
}

// TestRoundTrip holds that what is read is what was written.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	table, err := LoadBuiltin()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(kindsText, format(table.Version(), table.Kinds())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for gvk, namespaced := range map[schema.GroupVersionKind]bool{
		{Group: "apps", Version: "v1", Kind: "Deployment"}: true,
		{Version: "v1", Kind: "Namespace"}:                 false,
	} {
		kind, ok := table.Lookup(gvk)
		if !ok || kind.Namespaced != namespaced || !kind.HasStatus || !kind.Verbs.Has("watch") {
			t.Errorf("%s: %t, %+v", gvk, ok, kind)
		}
	}
}

func TestDefine(t *testing.T) {
	t.Parallel()
	table, err := LoadBuiltin()
	if err != nil {
		t.Fatal(err)
	}
	crd := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(`
spec:
  group: shop.example.com
  names: {kind: WebApp, plural: webapps}
  scope: Namespaced
  versions:
  - {name: v1, served: true, subresources: {status: {}}}
  - {name: v1beta1, served: true}
  - {name: v1alpha1, served: false}
`), &crd.Object); err != nil {
		t.Fatal(err)
	}
	if err := table.Define(crd); err != nil {
		t.Fatal(err)
	}
	group := func(version string) schema.GroupVersionKind {
		return schema.GroupVersionKind{Group: "shop.example.com", Version: version, Kind: "WebApp"}
	}
	kind, ok := table.Lookup(group("v1"))
	if !ok || !kind.Namespaced || !kind.HasStatus || !kind.Verbs.HasAll("watch", "patch") || kind.GVR.Resource != "webapps" {
		t.Errorf("%t, %+v", ok, kind)
	}
	if kind, ok := table.Lookup(group("v1beta1")); !ok || kind.HasStatus || !kind.Subresources.Equal(sets.New[string]()) {
		t.Errorf("%t, %+v", ok, kind)
	}
	if _, ok := table.Lookup(group("v1alpha1")); ok {
		t.Error("a version that is not served is known")
	}
	if table.HasGroup("shop.example.com") || !table.HasGroup("apps") {
		t.Error("HasGroup is wrong")
	}
	if err := table.Define(&unstructured.Unstructured{Object: map[string]any{}}); err == nil {
		t.Error("nothing was defined without an error")
	}
}

// format writes kinds in the format that parse reads.
func format(version string, kinds []Kind) string {
	var b strings.Builder
	b.WriteString(versionPrefix + version + "\n")
	b.WriteString("# The kinds that its API server serves. Written by go generate; do not edit.\n")
	for _, k := range kinds {
		scope := "Cluster"
		if k.Namespaced {
			scope = "Namespaced"
		}
		b.WriteString(strings.Join([]string{
			k.GVK.GroupVersion().String(), k.GVK.Kind, k.GVR.Resource, scope,
			strings.Join(sets.List(k.Verbs), ","), strings.Join(sets.List(k.Subresources), ","),
		}, "\t") + "\n")
	}
	return b.String()
}
