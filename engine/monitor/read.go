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

// Failure is the newest error of the key's informer, as long as nothing has come
// of its tries since; nil when it works, or is not watched.
func (m *Monitors) Failure(key Key) error {
	mon := m.monitor(key)
	if mon == nil {
		return nil
	}
	return mon.health.failure()
}

// View is what one informer shows that has filled. It goes on showing what that
// informer held when it is stopped, or replaced by one that has yet to fill: whoever
// reads by way of it never takes an empty memory for an empty cluster. Keep it for
// one piece of work only, as it gets old then.
type View struct {
	mon      *monitor
	indexers cache.Indexers
}

// View is that of a key; nil unless it is watched and HasSynced.
func (m *Monitors) View(key Key) *View {
	mon := m.monitor(key)
	if mon == nil || !mon.hasSynced() {
		return nil
	}
	return m.viewOf(mon)
}

func (m *Monitors) viewOf(mon *monitor) *View {
	return &View{mon: mon, indexers: m.options.Indexers}
}

// Known is the newest known state of an object. The zero value is that of one that is
// not there, as far as is known.
type Known struct{ object *wire.Object }

// Head is the object with no more for sure than apiVersion, kind and metadata; nil for
// none. It is read-only.
func (k Known) Head() *unstructured.Unstructured { return k.object.Head() }

// Whole is the object with its content, nil for none; false where there is one of which
// the content is not kept. It is read-only.
func (k Known) Whole() (*unstructured.Unstructured, bool) {
	if !k.object.IsWhole() {
		return nil, false
	}
	return k.object.Tree(), true
}

// Known is the newest known state of one object in the key's view. It is the way to
// read by a Key with Heads: Get, List and ByIndex are for those that have all content.
func (m *Monitors) Known(key Key, namespace, name string) Known {
	mon := m.monitor(key)
	if mon == nil {
		return Known{}
	}
	return m.viewOf(mon).Known(namespace, name)
}

// Known is as that of Monitors.
func (v *View) Known(namespace, name string) Known {
	object, _ := v.get(namespace, name)
	return Known{object}
}

// Get returns the newest known state of one object in the key's view. It is
// read-only. For a cluster-scoped object namespace is "".
func (m *Monitors) Get(key Key, namespace, name string) (*unstructured.Unstructured, bool) {
	mon := m.monitor(key)
	if mon == nil {
		return nil, false
	}
	object, ok := m.viewOf(mon).get(namespace, name)
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
	mon := m.monitor(key)
	if mon == nil {
		return nil, false
	}
	object, ok := m.viewOf(mon).get(namespace, name)
	return object.Head(), ok
}

func (v *View) get(namespace, name string) (*wire.Object, bool) {
	return v.mon.overlay.resolve(cache.NewObjectName(namespace, name).String())
}

// Hidden tells whether an object of that name matches the selector and is not in view, because of Options.Tag, and its resourceVersion.
func (v *View) Hidden(namespace, name string) (version string, hidden bool) {
	item, found, err := v.mon.informer.GetIndexer().GetByKey(cache.NewObjectName(namespace, name).String())
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

// Unread lists the objects in the key's view, in their newest known state, without
// reading them.
func (m *Monitors) Unread(key Key) []*wire.Object {
	mon := m.monitor(key)
	if mon == nil {
		return nil
	}
	return m.viewOf(mon).list()
}

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

// List returns the newest known state of every object in the key's view, sorted
// by namespace and name. The objects are read-only; the slice is the caller's.
func (m *Monitors) List(key Key) []*unstructured.Unstructured {
	mon := m.monitor(key)
	if mon == nil {
		return nil
	}
	return m.viewOf(mon).List()
}

// List is as that of Monitors.
func (v *View) List() []*unstructured.Unstructured { return treesOf(v.list()) }

func (v *View) list() []*wire.Object {
	return v.mon.overlay.list(v.mon.informer.GetIndexer().List, v.mon.overlay.names, nil)
}

// ByIndex returns the newest known state of every object in the key's view for
// which the indexer of that name gives value, sorted by namespace and name. It
// returns nothing for an index that Options.Indexers does not have.
func (m *Monitors) ByIndex(key Key, index, value string) []*unstructured.Unstructured {
	mon := m.monitor(key)
	if mon == nil {
		return nil
	}
	return m.viewOf(mon).ByIndex(index, value)
}

// ByIndex is as that of Monitors.
func (v *View) ByIndex(index, value string) []*unstructured.Unstructured {
	return treesOf(v.byIndex(index, value))
}

// HeadsByIndex is to ByIndex what Heads is to List.
func (m *Monitors) HeadsByIndex(key Key, index, value string) []*unstructured.Unstructured {
	return headsOf(m.UnreadByIndex(key, index, value))
}

// UnreadByIndex is as HeadsByIndex, for who can tell from their names which of the
// objects have to be read.
func (m *Monitors) UnreadByIndex(key Key, index, value string) []*wire.Object {
	mon := m.monitor(key)
	if mon == nil {
		return nil
	}
	return m.viewOf(mon).byIndex(index, value)
}

func (v *View) byIndex(index, value string) []*wire.Object {
	indexer, ok := v.indexers[index]
	if !ok {
		return nil
	}
	stored := func() []any {
		items, err := v.mon.informer.GetIndexer().ByIndex(index, value)
		if err != nil {
			return nil // only for an unknown index
		}
		return items
	}
	overlaid := func() []string { return v.mon.overlay.namesByIndex(index, value) }
	return v.mon.overlay.list(stored, overlaid, func(obj *wire.Object) bool {
		values, err := indexer(obj)
		return err == nil && slices.Contains(values, value)
	})
}

func treesOf(objects []*wire.Object) []*unstructured.Unstructured {
	if objects == nil {
		return nil
	}
	trees := make([]*unstructured.Unstructured, len(objects))
	for i, object := range objects {
		trees[i] = object.Shared()
	}
	return trees
}

func headsOf(objects []*wire.Object) []*unstructured.Unstructured {
	if objects == nil {
		return nil
	}
	heads := make([]*unstructured.Unstructured, len(objects))
	for i, object := range objects {
		heads[i] = object.Head()
	}
	return heads
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

// ObserveDeleted records that the object of obj's UID is gone: a delete without
// finalizers succeeded, or a live read found nothing or another object. obj is the
// last known state.
func (m *Monitors) ObserveDeleted(key Key, obj *unstructured.Unstructured) {
	if mon := m.monitor(key); mon != nil {
		mon.overlay.observeDeleted(wire.Of(obj))
	}
}
