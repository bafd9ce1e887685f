package engine

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/monitor"
)

// echoes are the writes of statuses that have not come back as events yet. While thousands of parents of
// a rule wait to be looked at, those that have been are not to be so once more before them.
type echoes struct {
	mu sync.Mutex
	// versions are the resourceVersions that the writes made, by the parent's UID. What is missed, because
	// its event came before the answer, stays until the parent is written to again or goes.
	versions map[types.UID]string
}

func newEchoes() *echoes { return &echoes{versions: make(map[types.UID]string)} }

// wrote notes the answer of a write.
func (e *echoes) wrote(live *unstructured.Unstructured) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.versions[live.GetUID()] = live.GetResourceVersion()
}

// hear tells whether an event is what such a write comes back as, and forgets the write.
func (e *echoes) hear(event monitor.Event) bool {
	if event.Newest() == nil {
		return false
	}
	uid := event.Newest().UID()
	e.mu.Lock()
	defer e.mu.Unlock()
	version, ok := e.versions[uid]
	if !ok {
		return false
	}
	heard := event.New != nil && event.New.ResourceVersion() == version
	if heard || event.New == nil {
		delete(e.versions, uid)
	}
	return heard
}

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
