package openapi

import (
	_ "embed" // objectmeta.json
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// Kinds are the schemas of whole objects, by kind.
type Kinds map[schema.GroupVersionKind]*Schema

// Schema returns the schema of a kind; nil if there is none.
func (k Kinds) Schema(gvk schema.GroupVersionKind) *Schema { return k[gvk] }

// Schemas returns the schemas of kinds, from memory.
type Schemas interface {
	// Schema is the schema of whole objects of a kind, with apiVersion, kind and metadata; nil if none is known.
	Schema(gvk schema.GroupVersionKind) *Schema
}

// Layers are several Schemas. The first that knows a kind decides.
type Layers []Schemas

// Schema implements Schemas.
func (l Layers) Schema(gvk schema.GroupVersionKind) *Schema {
	for _, layer := range l {
		if s := layer.Schema(gvk); s != nil {
			return s
		}
	}
	return nil
}

// errNoComponents reports that a document has no schemas.
var errNoComponents = errors.New("it has no components.schemas")

// FromDocument reads the OpenAPI v3 document of a group and version: an API server's answer to GET
// /openapi/v3/apis/GROUP/VERSION. The result has only kinds whose objects have metadata of their own, and so no lists.
func FromDocument(data []byte) (Kinds, error) { return new(Pool).FromDocument(data) }

// FromDocument is FromDocument with a Pool that shares the schemas.
func (p *Pool) FromDocument(data []byte) (Kinds, error) {
	components, err := decodeDocument(data)
	if err != nil {
		return nil, err
	}
	return p.kindsOf(components)
}

// kindsOf returns the schemas of the kinds among the components of a document.
func (p *Pool) kindsOf(components map[string]*spec.Schema) (Kinds, error) {
	if components == nil {
		return nil, fmt.Errorf("decode the OpenAPI document: %w", errNoComponents)
	}
	for _, s := range components {
		dropUnread(s)
	}
	b := newBuilder(components, p)
	kinds := make(Kinds)
	for name, s := range components {
		var all []metav1.GroupVersionKind
		if !isObject(s) || s.Extensions.GetObject("x-kubernetes-group-version-kind", &all) != nil {
			continue
		}
		for _, kind := range all {
			gvk := schema.GroupVersionKind(kind)
			kinds[gvk] = b.kind(s, b.kindPlace(gvk, name))
		}
	}
	p.put(b.fresh)
	return kinds, nil
}

func decodeDocument(data []byte) (map[string]*spec.Schema, error) {
	var document struct {
		Components struct {
			Schemas map[string]*spec.Schema `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(data, &document); err != nil {
		return nil, fmt.Errorf("decode the OpenAPI document: %w", err)
	}
	maps.DeleteFunc(document.Components.Schemas, func(_ string, s *spec.Schema) bool { return s == nil })
	return document.Components.Schemas, nil
}

// isObject reports whether a component describes stored objects: it has the metadata of an object, not of a list.
func isObject(s *spec.Schema) bool {
	metadata := s.Properties["metadata"]
	return refersTo(&metadata) == objectMeta
}

func (b *builder) kindPlace(gvk schema.GroupVersionKind, component string) place {
	return place{name: gvk.GroupVersion().String() + "." + gvk.Kind, mark: b.mark(component), native: isNative(component)}
}

// metaJSON has the components of metadata, as Kubernetes publishes them: a CustomResourceDefinition does not repeat
// them.
//
//go:embed objectmeta.json
var metaJSON []byte

// errNoVersion reports that a definition has no served version.
var errNoVersion = errors.New("it has no spec.group, no spec.names.kind or no version that is served")

// FromCRD reads the schemas of a CustomResourceDefinition, one for each served version. A version without a schema has
// none. The error reports that the definition cannot be read.
func FromCRD(crd *unstructured.Unstructured) (Kinds, error) { return new(Pool).FromCRD(crd) }

// FromCRD is FromCRD with a Pool that shares the schemas.
func (p *Pool) FromCRD(crd *unstructured.Unstructured) (Kinds, error) {
	documents := make(map[schema.GroupVersion]components)
	err := addComponents(documents, crd)
	kinds := make(Kinds)
	for _, of := range documents {
		var text []byte
		if text, err = of.document(); err == nil {
			var found Kinds
			found, err = p.FromDocument(text)
			maps.Copy(kinds, found)
		}
		if err != nil {
			break
		}
	}
	if err != nil {
		return nil, fmt.Errorf("read CustomResourceDefinition %s: %w", crd.GetName(), err)
	}
	return kinds, nil
}

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
	documents := make(map[schema.GroupVersion]components)
	for _, crd := range crds {
		if err := addComponents(documents, crd); err != nil {
			return nil, fmt.Errorf("read CustomResourceDefinition %s: %w", crd.GetName(), err)
		}
	}
	for gv, of := range documents {
		text, err := of.document()
		if err == nil {
			s.entries[gv], err = s.kinds.entryOf(gv.String(), text, time.Now())
		}
		if err != nil {
			return nil, fmt.Errorf("read the definitions of %s: %w", gv, err)
		}
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
	components, err := decodeDocument(document)
	if err != nil {
		return nil, err
	}
	converter, err := managedfields.NewTypeConverter(components, false)
	return &entry{url: "builtin", checked: time.Now(), known: &sync.Map{}, converter: converter, kinds: kinds}, err
})

// components are the schemas of the OpenAPI document of a group and version.
type components map[string]any

func (c components) document() ([]byte, error) {
	return json.Marshal(map[string]any{"components": map[string]any{"schemas": c}})
}

// addComponents adds the schemas of a definition to those of the documents that an API server would publish for it.
func addComponents(to map[schema.GroupVersion]components, crd *unstructured.Unstructured) error {
	group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
	keepsUnknown, _, _ := unstructured.NestedBool(crd.Object, "spec", "preserveUnknownFields")
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions") // a copy
	served := false
	for _, item := range versions {
		version, _ := item.(map[string]any)
		name, _ := version["name"].(string)
		if version["served"] != true || name == "" || group == "" || kind == "" {
			continue
		}
		served = true
		content, found, _ := unstructured.NestedMap(version, "schema", "openAPIV3Schema")
		if !found {
			continue
		}
		gv := schema.GroupVersion{Group: group, Version: name}
		if to[gv] == nil {
			var meta struct {
				Components struct {
					Schemas components `json:"schemas"`
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
		if keepsUnknown {
			content["x-kubernetes-preserve-unknown-fields"] = true
		}
		content["x-kubernetes-group-version-kind"] = []any{map[string]any{"group": group, "version": name, "kind": kind}}
		to[gv][group+"."+name+"."+kind] = content
	}
	if !served {
		return errNoVersion
	}
	return nil
}
