package restmapping

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestDefineDocument(t *testing.T) {
	t.Parallel()
	const (
		things = `"/apis/example.com/v1/namespaces/{namespace}/things"`
		thing  = `"x-kubernetes-group-version-kind": {"group": "example.com", "version": "v1", "kind": "Thing"}`
		zone   = `"x-kubernetes-group-version-kind": {"group": "example.com", "version": "v1", "kind": "Zone"}`
	)
	document := `{"paths": {
		"/apis/example.com/v1/": {"get": {}},
		"/apis/example.com/v1/things": {"get": {"x-kubernetes-action": "list", ` + thing + `}},
		` + things + `: {"get": {"x-kubernetes-action": "list", ` + thing + `}, "post": {"x-kubernetes-action": "post", ` + thing + `}, "parameters": []},
		` + strings.TrimSuffix(things, `"`) + `/{name}": {"get": {"x-kubernetes-action": "get", ` + thing + `}, "patch": {"x-kubernetes-action": "patch", ` + thing + `}},
		` + strings.TrimSuffix(things, `"`) + `/{name}/status": {"get": {"x-kubernetes-action": "get", ` + thing + `}},
		"/apis/example.com/v1/zones/{name}": {"get": {"x-kubernetes-action": "get", ` + zone + `}},
		"/apis/example.com/v1/watch/zones": {"get": {"x-kubernetes-action": "watchlist", ` + zone + `}}
	}}`
	var table Table
	if err := table.DefineDocument([]byte(document)); err != nil {
		t.Fatal(err)
	}
	if len(table.Kinds()) != 2 {
		t.Errorf("there are %d kinds", len(table.Kinds()))
	}
	kind, ok := table.Lookup(schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Thing"})
	if !ok || !kind.Namespaced || !kind.HasStatus || kind.GVR.Resource != "things" || !kind.Verbs.HasAll("get", "list", "watch", "create", "patch") || kind.Verbs.Has("delete") {
		t.Errorf("%t, %+v", ok, kind)
	}
	if kind, ok := table.Lookup(schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Zone"}); !ok || kind.Namespaced || kind.HasStatus {
		t.Errorf("%t, %+v", ok, kind)
	}
	if err := table.DefineDocument([]byte("no JSON")); err == nil {
		t.Error("a text was read that is none")
	}
}
