package engine

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine/monitor"
)

// isEcho tells whether a change of a parent is what rules said in its status, and
// nothing else. Such a change must not cut the pause after a failure short: the
// text of a failure may differ each time, be written, and come back as an event.
func isEcho(event monitor.Event) bool {
	if event.Old == nil || event.New == nil || event.Old.UID() != event.New.UID() {
		return false
	}
	before, after, ok := event.Whole()
	return ok && equality.Semantic.DeepEqual(withoutEcho(before), withoutEcho(after))
}

// withoutEcho is an object without what a write of a rule's status changes: the
// status, and what is recorded of the write.
func withoutEcho(obj *unstructured.Unstructured) map[string]any {
	content := maps.Clone(obj.Object)
	delete(content, "status")
	metadata, ok := content["metadata"].(map[string]any)
	if !ok {
		return content
	}
	metadata = maps.Clone(metadata)
	delete(metadata, "resourceVersion")
	delete(metadata, "generation") // grows where there is no status subresource
	entries, _ := metadata["managedFields"].([]any)
	metadata["managedFields"] = slices.DeleteFunc(slices.Clone(entries), isOurs)
	content["metadata"] = metadata
	return content
}

// isOurs tells whether an entry of managedFields is of a rule's status manager.
func isOurs(item any) bool {
	entry, _ := item.(map[string]any)
	manager, _ := entry["manager"].(string)
	return strings.HasPrefix(manager, statusManagers)
}
