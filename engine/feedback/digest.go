package feedback

import (
	"hash/maphash"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/wire"
)

// digest is a hash of an object, without what changes with every write and is not part of its state.
func (w *writes) digest(obj *unstructured.Unstructured) uint64 {
	text, err := wire.AppendJSON(nil, stateOf(obj, w.volatile))
	if err != nil {
		return maphash.String(w.seed, obj.GetResourceVersion()) // counts as a state of its own
	}
	return maphash.Bytes(w.seed, text)
}

// stateOf returns an object without its version, its times and the volatile annotations. An object that was recreated
// as it was is in the same state.
func stateOf(obj *unstructured.Unstructured, volatile []string) map[string]any {
	state := maps.Clone(obj.Object)
	metadata, _ := state["metadata"].(map[string]any)
	kept := make(map[string]any)
	for _, field := range []string{"labels", "annotations", "finalizers", "ownerReferences"} {
		if value, ok := metadata[field]; ok {
			kept[field] = value
		}
	}
	if annotations, ok := kept["annotations"].(map[string]any); ok {
		kept["annotations"] = without(annotations, volatile...)
	}
	state["metadata"] = kept
	status, ok := state["status"].(map[string]any)
	if !ok {
		return state
	}
	status = without(status, "observedGeneration")
	if conditions, ok := status["conditions"].([]any); ok {
		status["conditions"] = withoutTimes(conditions)
	}
	state["status"] = status
	return state
}

// withoutTimes returns conditions without their times and generations.
func withoutTimes(conditions []any) []any {
	kept := slices.Clone(conditions)
	for i, item := range kept {
		if condition, ok := item.(map[string]any); ok {
			kept[i] = without(condition, "lastTransitionTime", "lastUpdateTime", "lastHeartbeatTime", "observedGeneration")
		}
	}
	return kept
}

// without returns a copy of a map that lacks some fields.
func without(fields map[string]any, names ...string) map[string]any {
	kept := maps.Clone(fields)
	for _, name := range names {
		delete(kept, name)
	}
	return kept
}
