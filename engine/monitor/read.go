package monitor

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"kanon.dev/kanon/wire"
)

// HasSynced tells whether the key is watched and Handle has returned for every
// object of its first list.
func (m *Monitors) HasSynced(key Key) bool {
	mon := m.monitor(key)
	return mon != nil && mon.hasSynced()
}

// Idle tells whether every informer has filled, and has shown what was observed of the objects in its view, and Handle and
// Synced have returned. An informer that fails has nothing to do before its next try.
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

// Filling lists the keys whose informers are reading their first list. One that fails is not among them.
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

// Failure is the newest error of the key's informer, as long as nothing has come
// of its tries since; nil when it works, or is not watched.
func (m *Monitors) Failure(key Key) error {
	if mon := m.monitor(key); mon != nil {
		return mon.health.failure()
	}
	return nil
}

// View is what one informer shows that has filled. It goes on showing what that
// informer held when it is stopped, or replaced by one that has yet to fill: whoever
// reads by way of it never takes an empty memory for an empty cluster. Keep it for
// one piece of work only, as it gets old then.
type View struct{ *monitor }

// View is that of a key; nil unless it is watched and HasSynced.
func (m *Monitors) View(key Key) *View {
	if mon := m.monitor(key); mon != nil && mon.hasSynced() {
		return &View{mon}
	}
	return nil
}

// Known is the newest known state of an object. The zero value is that of one that is
// not there, as far as is known.
type Known struct{ object *wire.Object }

// UID and ResourceVersion are the object's, and are empty for none. To ask for them costs nothing.
func (k Known) UID() types.UID { return k.object.UID() }

// ResourceVersion is described with UID.
func (k Known) ResourceVersion() string { return k.object.ResourceVersion() }

// Head is the object with no more for sure than apiVersion, kind and metadata; nil for
// none. It is read-only.
func (k Known) Head() *unstructured.Unstructured { return k.object.Head() }

// Whole is the object with its content, nil for none; false where there is one of which
// the content is not kept. It is read-only.
func (k Known) Whole() (*unstructured.Unstructured, bool) {
	if !k.object.IsWhole() {
		return nil, false
	}
	return k.object.Shared(), true
}

// Known is the newest known state of one object in the key's view. It is the way to
// read by a Key with Heads: Get and those that list are for those that have all content.
func (m *Monitors) Known(key Key, namespace, name string) Known {
	object, _ := m.monitor(key).get(namespace, name)
	return Known{object}
}

// Known is as that of Monitors.
func (v *View) Known(namespace, name string) Known {
	object, _ := v.get(namespace, name)
	return Known{object}
}

// Get returns the newest known state of one object in the key's view. It is
// read-only. For a cluster-scoped object namespace is "".
func (m *Monitors) Get(key Key, namespace, name string) (*unstructured.Unstructured, bool) {
	object, ok := m.monitor(key).get(namespace, name)
	return object.Tree(), ok
}

// Get is as that of Monitors.
func (v *View) Get(namespace, name string) (*unstructured.Unstructured, bool) {
	object, ok := v.get(namespace, name)
	return object.Shared(), ok
}

// Head is as Get for an object of which no more is asked than apiVersion, kind and
// metadata. That costs less.
func (m *Monitors) Head(key Key, namespace, name string) (*unstructured.Unstructured, bool) {
	object, ok := m.monitor(key).get(namespace, name)
	return object.Head(), ok
}

// Hidden tells whether an object of that name matches the selector and is not in view, because of Options.Tag, and its resourceVersion.
func (v *View) Hidden(namespace, name string) (version string, hidden bool) {
	item, found, err := v.informer.GetIndexer().GetByKey(cache.NewObjectName(namespace, name).String())
	if object, ok := item.(*wire.Object); err == nil && found && ok && object.IsStub() {
		return object.ResourceVersion(), true
	}
	return "", false
}

// Names lists the objects in the key's view without reading them.
func (m *Monitors) Names(key Key) []types.NamespacedName {
	objects := m.Unread(key)
	names := make([]types.NamespacedName, len(objects))
	for i, object := range objects {
		names[i] = types.NamespacedName{Namespace: object.Namespace(), Name: object.Name()}
	}
	return names
}

// Unread lists the objects in the key's view, in their newest known state, sorted by
// namespace and name, without reading them.
func (m *Monitors) Unread(key Key) []*wire.Object { return m.monitor(key).list() }

// IndexValues lists the values under which the indexer of that name has put the objects in the key's view, without
// reading any. It may list one for an object that our own write has changed or deleted just now.
func (m *Monitors) IndexValues(key Key, index string) []string {
	mon := m.monitor(key)
	if mon == nil {
		return nil
	}
	return append(mon.informer.GetIndexer().ListIndexFuncValues(index), mon.overlay.entries.ListIndexFuncValues(index)...)
}

// Heads returns the newest known state of every object in the key's view, sorted
// by namespace and name, with no more for sure than apiVersion, kind and metadata.
// The objects are read-only.
func (m *Monitors) Heads(key Key) []*unstructured.Unstructured { return headsOf(m.Unread(key)) }

// List reads every object in the view, in its newest known state, sorted by namespace and
// name. The objects are read-only; the slice is the caller's.
func (v *View) List() []*unstructured.Unstructured { return treesOf(v.list()) }

// ByIndex is List of the objects for which the indexer of that name gives value. It
// returns nothing for an index that Options.Indexers does not have.
func (v *View) ByIndex(index, value string) []*unstructured.Unstructured {
	return treesOf(v.byIndex(index, value))
}

// UnreadByIndex is to View.ByIndex what Unread is to View.List.
func (m *Monitors) UnreadByIndex(key Key, index, value string) []*wire.Object {
	return m.monitor(key).byIndex(index, value)
}

func treesOf(objects []*wire.Object) []*unstructured.Unstructured {
	return readBy((*wire.Object).Shared, objects)
}

func headsOf(objects []*wire.Object) []*unstructured.Unstructured {
	return readBy((*wire.Object).Head, objects)
}

func readBy(read func(*wire.Object) *unstructured.Unstructured, objects []*wire.Object) []*unstructured.Unstructured {
	trees := slices.Grow([]*unstructured.Unstructured(nil), len(objects))
	for _, object := range objects {
		trees = append(trees, read(object))
	}
	return trees
}

// Observe records the answer of a write, or of a live read, as the newest
// knowledge of that object until the informer has caught up. An object that does
// not match the key's selector is then out of view. obj must not be changed
// afterwards. Answers that are older than what is known are ignored, so the order
// of calls does not matter; an object that is merely marked for deletion is
// observed like any other.
func (m *Monitors) Observe(key Key, obj *unstructured.Unstructured) {
	if mon := m.monitor(key); mon != nil {
		mon.overlay.observe(m.options.keep(key, wire.Of(obj)))
	}
}
