package watch

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"
)

// monitor returns the informer that serves key, or nil.
func (m *Monitors) monitor(key Key) *monitor {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.monitors[key]
}

// HasSynced reports whether the key is watched and Handle has returned for every object of its first list.
func (m *Monitors) HasSynced(key Key) bool {
	mon := m.monitor(key)
	return mon != nil && mon.hasSynced()
}

// Idle reports whether every informer has filled and has shown every observed write in its view, and Handle and
// Synced have returned. A failing informer counts as idle until its next retry.
func (m *Monitors) Idle() bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	for _, mon := range m.monitors {
		if !mon.isIdle() {
			return false
		}
	}
	return true
}

// Filling returns the keys whose informers are reading their first list. Failing informers are not included.
func (m *Monitors) Filling() []Key {
	m.mu.RLock()
	defer m.mu.RUnlock()
	var keys []Key
	for key, mon := range m.monitors {
		if !mon.hasSynced() && mon.health.failure() == nil {
			keys = append(keys, key)
		}
	}
	return keys
}

// Failure returns the newest error of the key's informer while it fails; nil if it works or is not watched.
func (m *Monitors) Failure(key Key) error {
	if mon := m.monitor(key); mon != nil {
		return mon.health.failure()
	}
	return nil
}

// View reads one informer that has filled. It keeps showing that informer's objects when the informer is stopped or
// replaced by one that has yet to fill, so a reader never mistakes an empty memory for an empty cluster. Use it for
// one piece of work only: it gets stale.
type View struct{ *monitor }

// View returns the view of a key; nil unless the key is watched and HasSynced.
func (m *Monitors) View(key Key) *View {
	if mon := m.monitor(key); mon != nil && mon.hasSynced() {
		return &View{mon}
	}
	return nil
}

// Known returns the newest known state of one object in the key's view, without decoding it; nil if there is none.
func (m *Monitors) Known(key Key, namespace, name string) *Object {
	object, _ := m.monitor(key).get(namespace, name)
	return object
}

// Known is like Monitors.Known.
func (v *View) Known(namespace, name string) *Object {
	object, _ := v.get(namespace, name)
	return object
}

// Get returns the newest known state of one object in the key's view. It is read-only. The namespace of a
// cluster-scoped object is "".
func (m *Monitors) Get(key Key, namespace, name string) (*unstructured.Unstructured, bool) {
	object, ok := m.monitor(key).get(namespace, name)
	return object.Tree(), ok
}

// Get is like Monitors.Get.
func (v *View) Get(namespace, name string) (*unstructured.Unstructured, bool) {
	object, ok := v.get(namespace, name)
	return object.Shared(), ok
}

// Head is like Get, but the object may have nothing but apiVersion, kind and metadata. That costs less.
func (m *Monitors) Head(key Key, namespace, name string) (*unstructured.Unstructured, bool) {
	object, ok := m.monitor(key).get(namespace, name)
	return object.Head(), ok
}

// Hidden reports whether an object matches the selector but is not in view because of Options.Tag, and its resource
// version.
func (v *View) Hidden(namespace, name string) (version string, hidden bool) {
	if v.direct != nil {
		object := v.direct.get(namespace, name)
		return object.ResourceVersion(), object.IsStub()
	}
	item, found, err := v.informer.GetIndexer().GetByKey(cache.NewObjectName(namespace, name).String())
	if object, ok := item.(*Object); err == nil && found && ok && object.IsStub() {
		return object.ResourceVersion(), true
	}
	return "", false
}

// Unread returns the newest known state of the objects in the key's view, sorted by namespace and name, without
// decoding them.
func (m *Monitors) Unread(key Key) []*Object { return m.monitor(key).list() }

// IndexValues returns the values under which an index has objects in the key's view, without decoding any. A value
// may belong to an object that our own write just changed or deleted.
func (m *Monitors) IndexValues(key Key, index string) []string {
	mon := m.monitor(key)
	switch {
	case mon == nil:
		return nil
	case mon.direct != nil:
		return mon.direct.indexValues(index)
	}
	return append(mon.informer.GetIndexer().ListIndexFuncValues(index), mon.overlay.entries.ListIndexFuncValues(index)...)
}

// Heads returns the newest known state of every object in the key's view, sorted by namespace and name, with at least
// apiVersion, kind and metadata. The objects are read-only.
func (m *Monitors) Heads(key Key) []*unstructured.Unstructured {
	return readBy((*Object).Head, m.Unread(key))
}

// List returns the newest known state of every object in the view, sorted by namespace and name. The objects are
// read-only; the slice is the caller's.
func (v *View) List() []*unstructured.Unstructured {
	return readBy((*Object).Shared, v.list())
}

// ByIndex is List for the objects with a value in an index. It returns nothing for an index that Options.Indexers
// lacks.
func (v *View) ByIndex(index, value string) []*unstructured.Unstructured {
	return readBy((*Object).Shared, v.byIndex(index, value))
}

// UnreadByIndex is to View.ByIndex what Unread is to View.List.
func (m *Monitors) UnreadByIndex(key Key, index, value string) []*Object {
	return m.monitor(key).byIndex(index, value)
}

// get returns the newest known state of an object. A nil monitor has no objects.
func (m *monitor) get(namespace, name string) (*Object, bool) {
	switch {
	case m == nil:
		return nil, false
	case m.direct != nil:
		object := inView(m.direct.get(namespace, name))
		return object, object != nil
	}
	return m.overlay.resolve(cache.NewObjectName(namespace, name).String())
}

// list returns the newest known state of all objects.
func (m *monitor) list() []*Object {
	switch {
	case m == nil:
		return nil
	case m.direct != nil:
		return m.direct.list(func(*Object) bool { return true })
	}
	return m.overlay.list(m.informer.GetIndexer().List, m.overlay.entries.ListKeys)
}

// byIndex returns the newest known state of the objects with a value in an index.
func (m *monitor) byIndex(index, value string) []*Object {
	switch {
	case m == nil || m.options.Indexers[index] == nil:
		return nil
	case m.direct != nil:
		return m.direct.byIndex(index, value)
	}
	stored := func() []any {
		items, _ := m.informer.GetIndexer().ByIndex(index, value) // fails only for an unknown index
		return items
	}
	overlaid := func() []string {
		names, _ := m.overlay.entries.IndexKeys(index, value) // as above
		return names
	}
	return m.overlay.list(stored, overlaid)
}

func readBy(read func(*Object) *unstructured.Unstructured, objects []*Object) []*unstructured.Unstructured {
	trees := slices.Grow([]*unstructured.Unstructured(nil), len(objects))
	for _, object := range objects {
		trees = append(trees, read(object))
	}
	return trees
}

// Observe records the answer of a write or a live read as the newest state of that object until the informer has
// caught up. If the object does not match the key's selector, it is out of view from then on. obj must not be changed
// afterwards. Answers older than what is known are ignored, so the order of calls does not matter. An object that is
// merely marked for deletion is observed like any other.
func (m *Monitors) Observe(key Key, obj *unstructured.Unstructured) {
	mon := m.monitor(key)
	if mon == nil || mon.direct != nil {
		return
	}
	if answer := Of(obj); !mon.overlay.isPast(answer) {
		mon.overlay.observe(m.options.keep(key, answer))
	}
}
