package feedback

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// IsStatusWrite reports whether two states of an object differ only by a write of its status by a field manager for
// which isOwn is true. Such a change by Kanon itself needs no reconcile, and must not end the pause after a failure: the
// text of a failure may differ each time, be written to the status, and come back as an event.
func IsStatusWrite(before, after *unstructured.Unstructured, isOwn func(manager string) bool) bool {
	return equality.Semantic.DeepEqual(withoutStatus(before, isOwn), withoutStatus(after, isOwn))
}

// withoutStatus returns an object without what a write of its status changes: the status, and the metadata of the
// write.
func withoutStatus(obj *unstructured.Unstructured, isOwn func(manager string) bool) map[string]any {
	content := maps.Clone(obj.Object)
	delete(content, "status")
	metadata, ok := content["metadata"].(map[string]any)
	if !ok {
		return content
	}
	metadata = maps.Clone(metadata)
	delete(metadata, "resourceVersion")
	delete(metadata, "generation") // it grows with the status if there is no status subresource
	entries, _ := metadata["managedFields"].([]any)
	metadata["managedFields"] = slices.DeleteFunc(slices.Clone(entries), func(item any) bool {
		entry, _ := item.(map[string]any)
		manager, _ := entry["manager"].(string)
		return isOwn(manager)
	})
	content["metadata"] = metadata
	return content
}
