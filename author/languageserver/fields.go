package languageserver

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/author/manifests"
	"kanon.dev/kanon/restmapping/openapi"
	"kanon.dev/kanon/rules"
)

// inTemplate lists the fields or values of a kind at the marker. The first at names of the path lead to the template.
func (s *server) inTemplate(ctx context.Context, c *cursor, at int) []candidate {
	path := c.path[at:]
	if len(path) == 1 && !c.isName && (path[0] == "kind" || path[0] == "apiVersion") && c.path[at-1] == "template" {
		return s.kinds(ctx, c, path[0], c.mapping(at))
	}
	checked, kinds, err := s.check(ctx, c.text, rules.Options{})
	if err != nil {
		return nil
	}
	gvk := c.kindOf(at)
	of := kinds.Schema(gvk)
	if c.path[at-1] == "status" {
		path = append([]string{"status"}, path...)
	}
	documentation := documented{checked.CRDs, gvk, nil}
	for _, name := range path {
		if of == nil {
			return nil
		}
		of = below(of, name)
		documentation.path = append(documentation.path, name)
	}
	if of == nil {
		return nil
	}
	if mapping := c.nodes[len(c.nodes)-1]; c.isName {
		behind := ":"
		if mapping.Style&yaml.FlowStyle != 0 {
			behind = ": "
		}
		return fieldsOf(of, &documentation, mapping, behind)
	}
	return valuesOf(of)
}

// kindOf is the kind of the object that the template at the marker describes: the child, the target of a patch, or the
// parent.
func (c *cursor) kindOf(at int) schema.GroupVersionKind {
	of := get(get(c.root, "spec"), "parent")
	if c.path[at-1] == "template" {
		target := get(c.nodes[at-1], "target")
		if isPatch := c.path[at-3] == "patches"; !isPatch {
			of = c.mapping(at)
		} else if target != nil {
			of = target
		}
	}
	return gvkOf(of)
}

func gvkOf(n *yaml.Node) schema.GroupVersionKind {
	apiVersion, kind := get(n, "apiVersion"), get(n, "kind")
	if apiVersion == nil || kind == nil {
		return schema.GroupVersionKind{}
	}
	return schema.FromAPIVersionAndKind(apiVersion.Value, kind.Value)
}

// below is the schema of a field, or of list items if name is empty; nil if it is unknown.
func below(s *openapi.Schema, name string) *openapi.Schema {
	if s == nil {
		return nil
	}
	if name == "" {
		return s.Items
	}
	found, _ := s.At(name)
	return found
}

// fieldsOf lists the fields of an object, required ones first. behind follows the name of a field that has fields of
// its own.
func fieldsOf(s *openapi.Schema, documentation *documented, mapping *yaml.Node, behind string) []candidate {
	if s == nil {
		return nil
	}
	names := slices.SortedFunc(maps.Keys(s.Fields), func(a, b string) int {
		if s.Fields[a].Required != s.Fields[b].Required {
			if s.Fields[a].Required {
				return -1
			}
			return 1
		}
		return cmp.Compare(a, b)
	})
	all := make([]candidate, 0, len(names))
	for _, name := range names {
		field := s.Fields[name]
		found := candidate{label: name, kind: itemField, detail: schemaWords(field.Schema), present: get(mapping, name) != nil}
		if behind != "" {
			found.insert = name + behind
			if behind == ":" && (field.Schema == nil || field.Schema.Type != openapi.Object && field.Schema.Type != openapi.Map && field.Schema.Type != openapi.List) {
				found.insert += " "
			}
		}
		if documentation != nil {
			found.doc = documentation.of(name)
		}
		for _, note := range []struct {
			is   bool
			text string
		}{{field.Required, "Required."}, {field.Defaulted, "It has a default."}, {field.Immutable, "It cannot be changed."}} {
			if note.is {
				found.doc = strings.TrimSpace(found.doc + "\n\n" + note.text)
			}
		}
		all = append(all, found)
	}
	return all
}

func valuesOf(s *openapi.Schema) []candidate {
	var all []candidate
	for _, value := range s.Enum {
		all = append(all, candidate{label: fmt.Sprint(value), kind: itemValue})
	}
	if s.Type == openapi.Boolean {
		all = append(all, candidate{label: "true", kind: itemValue}, candidate{label: "false", kind: itemValue})
	}
	return all
}

// schemaWords describes the type of a field in a few words.
func schemaWords(s *openapi.Schema) string {
	if s == nil {
		return "any"
	}
	words := map[openapi.Type]string{
		openapi.Any: "any", openapi.Object: "object", openapi.String: "string", openapi.Integer: "integer", openapi.Number: "number",
		openapi.Boolean: "boolean", openapi.IntOrString: "integer or string",
	}[s.Type]
	switch s.Type {
	case openapi.List:
		return "list of " + schemaWords(s.Items)
	case openapi.Map:
		return "map of " + schemaWords(s.Items)
	}
	if len(s.Enum) > 0 {
		values := make([]string, len(s.Enum))
		for i, value := range s.Enum {
			values[i] = fmt.Sprint(value)
		}
		return strings.Join(values, " | ")
	}
	if s.Format != "" && s.Format != "int32" && s.Format != "int64" && s.Format != "double" {
		words += " (" + s.Format + ")"
	}
	return words
}

// documented finds descriptions of fields: in the given CustomResourceDefinitions, and for built-in kinds in
// Kubernetes' own API documents. Package openapi drops descriptions.
type documented struct {
	definitions []*unstructured.Unstructured
	kind        schema.GroupVersionKind
	path        []string
}

// of is the description of a field below the path.
func (d *documented) of(name string) string {
	for _, crd := range slices.Backward(d.definitions) {
		group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
		kind, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
		if group != d.kind.Group || kind != d.kind.Kind {
			continue
		}
		versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
		for _, v := range versions {
			version, _ := v.(map[string]any)
			if version["name"] != d.kind.Version {
				continue
			}
			props, _, _ := unstructured.NestedMap(version, "schema", "openAPIV3Schema")
			for _, step := range append(slices.Clone(d.path), name) {
				props = propertyOf(props, step)
			}
			if description, _ := props["description"].(string); description != "" {
				return description
			}
		}
	}
	of, path := d.kind, append(slices.Clone(d.path), name)
	if path[0] == "metadata" {
		of = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"} // any kind: all have the same metadata, and definitions leave it out
	}
	description, err := openapi.Description(of, path...)
	if err != nil {
		return "" // hover works without a description
	}
	return description
}

func propertyOf(props map[string]any, name string) map[string]any {
	if name == "" {
		items, _ := props["items"].(map[string]any)
		return items
	}
	properties, _ := props["properties"].(map[string]any)
	if found, ok := properties[name].(map[string]any); ok {
		return found
	}
	more, _ := props["additionalProperties"].(map[string]any)
	return more
}

// kinds lists the kinds or apiVersions that a mapping can have. If the other one of the two is set, only matching ones
// are listed.
func (s *server) kinds(ctx context.Context, c *cursor, field string, of *yaml.Node) []candidate {
	_, kinds, err := s.check(ctx, c.text, rules.Options{})
	if err != nil {
		return nil
	}
	given := func(name string) string {
		if n := get(of, name); n != nil && !strings.Contains(n.Value, marker) {
			return n.Value
		}
		return ""
	}
	var all []candidate
	for _, known := range sortedKinds(kinds) {
		apiVersion := known.GroupVersion().String()
		found := candidate{label: known.Kind, detail: apiVersion, kind: itemClass}
		if field == "apiVersion" {
			if kind := given("kind"); kind != "" && kind != known.Kind {
				continue
			}
			found.label, found.detail = apiVersion, ""
		} else if in := given("apiVersion"); in != "" && in != apiVersion {
			continue
		}
		if !slices.ContainsFunc(all, func(other candidate) bool { return other.label == found.label && other.detail == found.detail }) {
			all = append(all, found)
		}
	}
	return all
}

func sortedKinds(kinds *manifests.Kinds) []schema.GroupVersionKind {
	return slices.SortedFunc(slices.Values(kinds.Known()), func(a, b schema.GroupVersionKind) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Group, b.Group), cmp.Compare(a.Version, b.Version))
	})
}
