package fieldset

import (
	"encoding/base64"
	"maps"
	"math"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	smdschema "sigs.k8s.io/structured-merge-diff/v6/schema"
)

// Normalise returns a copy of a rendered object in the form that is hashed, written and checked:
//
//   - Nulls are removed, unless the schema says nullable. Null elements of a list are removed if the schema gives the elements a
//     type, and kept in untyped data, where a position may have a meaning.
//   - Empty lists and empty string-keyed maps are removed if they are in a Go type of Kubernetes: it drops them when it is
//     stored, so they could never be recognised as ours. An empty struct ({} in namespaceSelector: {} or emptyDir: {}) stays, and
//     so does everything in a custom resource, because there presence has a meaning.
//   - Keys of list maps are completed from the schema's defaults, such as a port's protocol.
//   - A Secret's stringData is folded into data, as the server does it.
//   - Metadata that only the server writes is removed, so that a template may copy an object. So is the status if the kind has a
//     status subresource, because the server ignores it then.
func (k Kind) Normalise(rendered *unstructured.Unstructured, hasStatus bool) *unstructured.Unstructured {
	source := FoldStringData(rendered)
	content, ok := k.normaliseValue(source, k.root, false).(map[string]any)
	if !ok {
		content = map[string]any{}
	}
	DropServerFields(content, hasStatus)
	return &unstructured.Unstructured{Object: content}
}

// DropServerFields removes what only the server writes.
func DropServerFields(content map[string]any, hasStatus bool) {
	if hasStatus {
		delete(content, "status")
	}
	if metadata, ok := content["metadata"].(map[string]any); ok {
		for _, field := range serverMetadata() {
			delete(metadata, field)
		}
	}
}

// serverMetadata lists the fields of metadata that only the server writes.
func serverMetadata() []string {
	return []string{
		"creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "generation", "managedFields",
		"resourceVersion", "selfLink", "uid",
	}
}

// normaliseValue copies v, which has type ref. inGo reports whether the enclosing definition is a Go type of
// Kubernetes.
func (k Kind) normaliseValue(v any, ref smdschema.TypeRef, inGo bool) any {
	if ref.NamedType != nil {
		inGo = IsGoType(*ref.NamedType)
	}
	switch v := v.(type) {
	case map[string]any:
		return k.normaliseMap(v, k.atom(ref).Map, inGo)
	case []any:
		return k.normaliseList(v, k.atom(ref).List, inGo)
	case int:
		return int64(v)
	case int32:
		return int64(v)
	case float32:
		return float64(v)
	default:
		return v
	}
}

func (k Kind) normaliseMap(in map[string]any, m *smdschema.Map, inGo bool) map[string]any {
	out := make(map[string]any, len(in))
	for name, v := range in {
		ref := fieldType(m, name)
		if v == nil && !ref.Nullable {
			continue
		}
		normalised := k.normaliseValue(v, ref, inGo)
		if inGo && !ref.Nullable && k.vanishes(normalised, ref) {
			continue
		}
		out[name] = normalised
	}
	return out
}

func (k Kind) normaliseList(in []any, list *smdschema.List, inGo bool) []any {
	var element smdschema.TypeRef
	if list != nil {
		element = list.ElementType
	}
	typed := list != nil && !isUntyped(element) && !element.Nullable
	out := make([]any, 0, len(in))
	for _, v := range in {
		if v == nil && typed {
			continue
		}
		item := k.normaliseValue(v, element, inGo)
		if m, ok := item.(map[string]any); ok && list != nil && list.ElementRelationship == smdschema.Associative {
			k.completeKeys(m, list)
		}
		out = append(out, item)
	}
	return out
}

// completeKeys sets the missing keys of a list-map item for which the schema has defaults.
func (k Kind) completeKeys(item map[string]any, list *smdschema.List) {
	m := k.atom(list.ElementType).Map
	if m == nil {
		return
	}
	for _, key := range list.Keys {
		if _, ok := item[key]; ok {
			continue
		}
		if field, ok := m.FindField(key); ok && field.Default != nil {
			item[key] = wholeNumber(field.Default)
		}
	}
}

// vanishes reports whether a Go type drops v when it is encoded: an empty list, or an empty map whose elements have a
// type of their own. An empty struct stays.
func (k Kind) vanishes(v any, ref smdschema.TypeRef) bool {
	atom := k.atom(ref)
	if atom.Scalar != nil {
		return false
	}
	switch v := v.(type) {
	case []any:
		return len(v) == 0 && atom.List != nil
	case map[string]any:
		return len(v) == 0 && atom.Map != nil && len(atom.Fields) == 0 && !isUntyped(atom.Map.ElementType)
	default:
		return false
	}
}

// IsGoType reports whether an OpenAPI definition was generated from a Go type of Kubernetes, by its name. Definitions
// of custom resources are named after their reversed group, and a CRD may not have one of these groups without
// approval by the Kubernetes project.
func IsGoType(definition string) bool {
	return slices.ContainsFunc([]string{
		"io.k8s.api.", "io.k8s.apimachinery.", "io.k8s.apiextensions-apiserver.", "io.k8s.kube-aggregator.",
	}, func(prefix string) bool { return strings.HasPrefix(definition, prefix) })
}

// isUntyped reports whether ref is a type for data without a schema: no type at all, or one of the definitions that
// kube-openapi's schemaconv adds under these names.
func isUntyped(ref smdschema.TypeRef) bool {
	if ref.NamedType != nil {
		return *ref.NamedType == "__untyped_atomic_" || *ref.NamedType == "__untyped_deduced_"
	}
	return ref.Inlined == smdschema.Atom{}
}

// FoldStringData returns the content of obj with a Secret's stringData moved to data, base64-encoded. It does not
// change obj.
func FoldStringData(obj *unstructured.Unstructured) map[string]any {
	text, ok := obj.Object["stringData"].(map[string]any)
	if !ok || obj.GroupVersionKind().GroupKind() != (schema.GroupKind{Kind: "Secret"}) {
		return obj.Object
	}
	data := map[string]any{}
	old, _ := obj.Object["data"].(map[string]any)
	maps.Copy(data, old)
	for key, v := range text {
		if s, ok := v.(string); ok {
			data[key] = base64.StdEncoding.EncodeToString([]byte(s))
		} else if v != nil {
			data[key] = v // not a string: typed validation reports it, with its path
		}
	}
	out := maps.Clone(obj.Object)
	delete(out, "stringData")
	out["data"] = data
	return out
}

// wholeNumber turns a default that JSON decoded as a float back into an integer.
func wholeNumber(v any) any {
	if f, ok := v.(float64); ok && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return int64(f)
	}
	return v
}

// IsSecret reports whether an object is a Secret.
func IsSecret(obj *unstructured.Unstructured) bool {
	return obj.GroupVersionKind().Group == "" && obj.GetKind() == "Secret"
}
