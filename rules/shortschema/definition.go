package shortschema

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Kind is a kind with all of its versions.
type Kind struct {
	schema.GroupKind
	// Plural and Singular are the names in paths and for kubectl. If empty, Names has the defaults.
	Plural, Singular string
	// ShortNames and Categories are texts.
	ShortNames, Categories []any
	Namespaced             bool
	Description            string
	Versions               []Version
}

// Version is one version of a kind.
type Version struct {
	Name string
	// Unserved is true if the API server does not serve the version. Stored is true if it stores objects in it.
	Unserved, Stored bool
	// Warning is the deprecation warning. It is empty if the version is not deprecated.
	Warning string
	// Spec and Status are the schemas of spec and status, or nil.
	Spec, Status map[string]any
	// OpenStatus lets the status have fields that are not in its schema.
	OpenStatus bool
	// Validations are the validations of whole objects.
	Validations []any
	// Columns are the printer columns. A column without a type gets the type of its field.
	Columns []any
	// Scale is the scale subresource, or nil.
	Scale map[string]any
}

// Path returns the path of a version's schema in the definition. version is its index.
func Path(version int, more ...string) []string {
	return append([]string{"spec", "versions", strconv.Itoa(version), "schema", "openAPIV3Schema"}, more...)
}

// Definition returns the CustomResourceDefinition. Every version has the status subresource, with conditions.
func (k *Kind) Definition() *unstructured.Unstructured {
	plural, singular := k.Names()
	names := map[string]any{"kind": k.Kind, "listKind": k.Kind + "List", "plural": plural, "singular": singular}
	if len(k.ShortNames) > 0 {
		names["shortNames"] = k.ShortNames
	}
	if len(k.Categories) > 0 {
		names["categories"] = k.Categories
	}
	scope := "Cluster"
	if k.Namespaced {
		scope = "Namespaced"
	}
	versions := make([]any, len(k.Versions))
	for i := range k.Versions {
		versions[i] = k.Versions[i].definition(k.Description)
	}
	metadata := map[string]any{"name": plural + "." + k.Group}
	if strings.HasSuffix(k.Group, ".k8s.io") || strings.HasSuffix(k.Group, ".kubernetes.io") {
		// The API server requires this annotation for the groups of the Kubernetes community. Nobody approved the kind.
		metadata["annotations"] = map[string]any{"api-approved.kubernetes.io": "unapproved, experimental-only"}
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": metadata,
		"spec": map[string]any{"group": k.Group, "names": names, "scope": scope, "versions": versions},
	}}
}

// Names returns the plural and the singular of the kind. Their defaults are those of kubebuilder: policies for Policy,
// classes for Class, apps for App.
func (k *Kind) Names() (plural, singular string) {
	singular = k.Singular
	if singular == "" {
		singular = strings.ToLower(k.Kind)
	}
	if k.Plural != "" {
		return k.Plural, singular
	}
	switch plural = strings.ToLower(k.Kind); {
	case endsIn(plural, "s", "x", "z", "ch", "sh"):
		return plural + "es", singular
	case strings.HasSuffix(plural, "y") && !endsIn(plural, "ay", "ey", "iy", "oy", "uy"):
		return plural[:len(plural)-1] + "ies", singular
	default:
		return plural + "s", singular
	}
}

func endsIn(text string, ends ...string) bool {
	return slices.ContainsFunc(ends, func(end string) bool { return strings.HasSuffix(text, end) })
}

// schema returns the schema of whole objects.
func (v *Version) schema() map[string]any {
	properties := map[string]any{
		"apiVersion": map[string]any{"type": "string", "description": "The version of the kind."},
		"kind":       map[string]any{"type": "string", "description": "The kind of the object."},
		"metadata":   map[string]any{"type": "object"},
	}
	root := map[string]any{"type": "object", "properties": properties}
	if v.Spec != nil {
		properties["spec"] = v.Spec
		if required, _ := v.Spec["required"].([]any); len(required) > 0 {
			root["required"] = []any{"spec"}
		}
	}
	status := withConditions(v.Status)
	if v.OpenStatus {
		status["x-kubernetes-preserve-unknown-fields"] = true
	}
	properties["status"] = status
	if len(v.Validations) > 0 {
		root["x-kubernetes-validations"] = v.Validations
	}
	return root
}

func (v *Version) definition(description string) map[string]any {
	root := v.schema()
	if description != "" {
		root["description"] = description
	}
	subresources := map[string]any{"status": map[string]any{}}
	if v.Scale != nil {
		subresources["scale"] = v.Scale
	}
	made := map[string]any{
		"name": v.Name, "served": !v.Unserved, "storage": v.Stored,
		"schema":       map[string]any{"openAPIV3Schema": root},
		"subresources": subresources,
	}
	if v.Warning != "" {
		made["deprecated"], made["deprecationWarning"] = true, v.Warning
	}
	if len(v.Columns) > 0 {
		made["additionalPrinterColumns"] = v.columns()
	}
	return made
}

// columns returns the columns, each with a type.
func (v *Version) columns() []any {
	typed := make([]any, len(v.Columns))
	for i := range v.Columns {
		column, _ := v.Columns[i].(map[string]any)
		column = maps.Clone(column)
		if column["type"] == nil {
			of, _ := column["jsonPath"].(string)
			column["type"] = "string"
			if typ := v.Find(of).Type; slices.Contains([]string{"integer", "number", "boolean", "date"}, typ) {
				column["type"] = typ
			}
		}
		typed[i] = column
	}
	return typed
}
