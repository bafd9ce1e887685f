package restmapping

import (
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
)

type operation struct {
	Action string `json:"x-kubernetes-action"`
	Kind   struct {
		Group   string `json:"group"`
		Version string `json:"version"`
		Kind    string `json:"kind"`
	} `json:"x-kubernetes-group-version-kind"`
}

// DefineDocument adds the kinds in the paths of an OpenAPI v3 document, as an API server publishes it for a group and
// version. A document without paths adds none. The error reports that the document cannot be read.
func (t *Table) DefineDocument(document []byte) error {
	var content struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	if err := json.Unmarshal(document, &content); err != nil {
		return fmt.Errorf("decode the paths of an OpenAPI document: %w", err)
	}
	found := map[schema.GroupVersionKind]*Kind{}
	for path, methods := range content.Paths {
		resource, ok := resourceOf(path)
		if !ok {
			continue
		}
		for _, method := range methods {
			var op operation
			if json.Unmarshal(method, &op) == nil && op.Action != "" { // parameters are there, too
				resource.learn(op, found)
			}
		}
	}
	for _, kind := range found {
		kind.HasStatus = kind.Subresources.Has("status")
		if kind.Verbs.Has("get") {
			t.add(*kind)
		}
	}
	return nil
}

type pathResource struct {
	version     schema.GroupVersion
	resource    string
	subresource string
	namespaced  bool
}

// resourceOf parses a path such as /apis/apps/v1/namespaces/{namespace}/deployments/{name}/status.
func resourceOf(path string) (pathResource, bool) {
	var r pathResource
	parts := strings.Split(strings.Trim(path, "/"), "/")
	switch {
	case len(parts) > 2 && parts[0] == "api":
		r.version, parts = schema.GroupVersion{Version: parts[1]}, parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		r.version, parts = schema.GroupVersion{Group: parts[1], Version: parts[2]}, parts[3:]
	default:
		return r, false
	}
	if len(parts) > 2 && parts[0] == "namespaces" && parts[1] == "{namespace}" {
		r.namespaced, parts = true, parts[2:]
	}
	r.resource = parts[0]
	if len(parts) > 2 {
		r.subresource = parts[2]
	}
	return r, r.resource != "watch" && len(parts) <= 3
}

// learn adds what an operation on the resource tells about its kind.
func (r pathResource) learn(op operation, found map[schema.GroupVersionKind]*Kind) {
	gvk := schema.GroupVersionKind{Group: op.Kind.Group, Version: op.Kind.Version, Kind: op.Kind.Kind}
	if r.subresource != "" && (r.subresource != "status" || gvk.GroupVersion() != r.version) {
		return
	}
	kind := found[gvk]
	if kind == nil {
		kind = &Kind{GVK: gvk, Verbs: sets.New[string](), Subresources: sets.New[string]()}
		found[gvk] = kind
	}
	if r.subresource != "" {
		kind.Subresources.Insert(r.subresource)
		return
	}
	kind.GVR = r.version.WithResource(r.resource)
	kind.Namespaced = kind.Namespaced || r.namespaced
	switch op.Action {
	case "post":
		kind.Verbs.Insert("create")
	case "put":
		kind.Verbs.Insert("update")
	case "list":
		kind.Verbs.Insert("list", "watch") // watch has deprecated paths of its own
	default:
		kind.Verbs.Insert(op.Action)
	}
}
