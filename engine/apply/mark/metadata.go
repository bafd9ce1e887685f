package mark

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// EnsureMap returns the map under key, and adds it if it does not exist.
func EnsureMap(parent map[string]any, key string) map[string]any {
	if m, ok := parent[key].(map[string]any); ok {
		return m
	}
	m := map[string]any{}
	parent[key] = m
	return m
}

// MetadataString returns one entry of the labels or annotations without copying the map.
func MetadataString(obj *unstructured.Unstructured, field, key string) (string, bool) {
	metadata, ok := obj.Object["metadata"].(map[string]any)
	if !ok {
		return "", false
	}
	entries, ok := metadata[field].(map[string]any)
	if !ok {
		return "", false
	}
	text, ok := entries[key].(string)
	return text, ok
}
