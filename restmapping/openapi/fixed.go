package openapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// NewFixed returns the schemas of the built-in kinds and of definitions. It asks no API server.
func NewFixed(crds []*unstructured.Unstructured) (*Published, error) {
	s := NewPublished(nil)
	builtin, err := builtinEntry()
	if err != nil {
		return nil, err
	}
	for gvk := range builtin.kinds {
		s.entries[gvk.GroupVersion()] = builtin
	}
	components := make(map[schema.GroupVersion]map[string]any)
	kinds := make(Kinds)
	for _, crd := range crds {
		found, err := s.kinds.FromCRD(crd)
		if err != nil {
			return nil, err
		}
		maps.Copy(kinds, found)
		if err := addComponents(components, crd); err != nil {
			return nil, err
		}
	}
	for gv, schemas := range components {
		e := &entry{url: gv.String(), checked: time.Now(), known: &sync.Map{}, kinds: kinds}
		text, err := json.Marshal(map[string]any{"components": map[string]any{"schemas": schemas}})
		if err == nil {
			e.converter, err = newConverter(text)
		}
		if err != nil {
			return nil, fmt.Errorf("read the definitions of %s: %w", gv, err)
		}
		s.entries[gv] = e
	}
	return s, nil
}

//nolint:gochecknoglobals // decoded once, and never changed
var builtinEntry = sync.OnceValues(func() (*entry, error) {
	kinds, err := BuiltinKinds()
	if err != nil {
		return nil, err
	}
	document, err := decompress(compressed)
	if err != nil {
		return nil, fmt.Errorf("read the built-in schemas: %w", err)
	}
	converter, err := newConverter(document)
	return &entry{url: "builtin", checked: time.Now(), known: &sync.Map{}, converter: converter, kinds: kinds}, err
})

// addComponents adds the schemas of a definition to the components of the OpenAPI documents that an API server would
// publish for it, by group and version.
func addComponents(to map[schema.GroupVersion]map[string]any, crd *unstructured.Unstructured) error {
	group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions") // a copy
	for _, item := range versions {
		version, _ := item.(map[string]any)
		name, _ := version["name"].(string)
		content, found, _ := unstructured.NestedMap(version, "schema", "openAPIV3Schema")
		if !found {
			continue
		}
		gv := schema.GroupVersion{Group: group, Version: name}
		if to[gv] == nil {
			var meta struct {
				Components struct {
					Schemas map[string]any `json:"schemas"`
				} `json:"components"`
			}
			if err := json.Unmarshal(metaJSON, &meta); err != nil {
				return fmt.Errorf("read the schema of metadata: %w", err)
			}
			to[gv] = meta.Components.Schemas
		}
		properties, _ := content["properties"].(map[string]any)
		if properties == nil {
			properties = map[string]any{}
			content["properties"] = properties
		}
		properties["apiVersion"], properties["kind"] = map[string]any{"type": "string"}, map[string]any{"type": "string"}
		properties["metadata"] = map[string]any{"allOf": []any{map[string]any{"$ref": componentPrefix + objectMeta}}}
		content["x-kubernetes-group-version-kind"] = []any{map[string]any{"group": group, "version": name, "kind": kind}}
		to[gv][group+"."+name+"."+kind] = content
	}
	return nil
}
