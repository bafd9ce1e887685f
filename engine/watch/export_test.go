package watch

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Overlaid is how many objects of the key's view have an entry in the overlay.
func (m *Monitors) Overlaid(key Key) int {
	mon := m.monitor(key)
	if mon == nil {
		return 0
	}
	return int(mon.overlay.size.Load())
}

// List reads every object in the key's view, also before that has filled.
func (m *Monitors) List(key Key) []*unstructured.Unstructured {
	return readBy((*Object).Shared, m.Unread(key))
}

// ByIndex is List of the objects that have a value in an index.
func (m *Monitors) ByIndex(key Key, index, value string) []*unstructured.Unstructured {
	return readBy((*Object).Shared, m.UnreadByIndex(key, index, value))
}

// HeadsByIndex is to ByIndex what Heads is to List.
func (m *Monitors) HeadsByIndex(key Key, index, value string) []*unstructured.Unstructured {
	return readBy((*Object).Head, m.UnreadByIndex(key, index, value))
}

// Fail has the key's informer report an error. ctx is the context that the informer runs in.
func (m *Monitors) Fail(ctx context.Context, key Key, err error) {
	m.monitor(key).watchFailed(ctx, err)
}
