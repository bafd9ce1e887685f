package apply

import (
	"maps"
	"unique"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Compact returns obj with the paths in its managedFields as text, and shares everything else with it; obj stays as it is.
// Decoded, each path is a map of its own, and takes half of the memory of an object. Objects of one template have the
// same paths, so equal texts are kept once. Everything in this package takes an object in either form, and Compact of a
// compact object is the object itself.
func Compact(obj *unstructured.Unstructured) *unstructured.Unstructured {
	entries := entriesOf(obj)
	compact := make([]any, 0, len(entries))
	changed := false
	for _, e := range entries {
		text, err := e.text()
		if _, done := e.raw["fieldsV1"].(string); done || err != nil || e.raw["fieldsV1"] == nil {
			compact = append(compact, e.raw)
			continue
		}
		item := maps.Clone(e.raw)
		item["fieldsV1"] = unique.Make(text).Value()
		compact, changed = append(compact, item), true
	}
	if !changed {
		return obj
	}
	metadata, _ := obj.Object["metadata"].(map[string]any)
	metadata = maps.Clone(metadata)
	metadata["managedFields"] = compact
	content := maps.Clone(obj.Object)
	content["metadata"] = metadata
	return &unstructured.Unstructured{Object: content}
}
