package watch

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"
)

// Source has the objects of an API in memory. Monitors with a Source start no informers: they read each object when it is
// asked for, and their owner calls Deliver for each change.
type Source interface {
	// Find returns an object; nil if it does not exist.
	Find(gvr schema.GroupVersionResource, namespace, name string) *unstructured.Unstructured
	// Select returns the objects that a selector selects, in one namespace or, if that is empty, in all.
	Select(gvr schema.GroupVersionResource, namespace string, selector labels.Selector) []*unstructured.Unstructured
	// Served returns an object as it is served in a version of its kind.
	Served(object *unstructured.Unstructured, gvr schema.GroupVersionResource) *unstructured.Unstructured
}

// direct reads the objects of one key from a Source.
type direct struct {
	key      Key
	selector labels.Selector
	options  Options
}

func newDirect(key Key, o Options) *direct {
	selector, err := labels.Parse(key.Selector)
	if err != nil {
		selector = labels.Nothing()
	}
	return &direct{key: key, selector: selector, options: o}
}

// shown returns an object as the key shows it; nil if it does not. An object out of view is a stub.
func (d *direct) shown(object *unstructured.Unstructured) *Object {
	if object == nil || d.key.Namespace != "" && object.GetNamespace() != d.key.Namespace || !d.selector.Matches(labels.Set(object.GetLabels())) {
		return nil
	}
	return d.options.keep(d.key, Of(d.options.Source.Served(object, d.key.GVR)))
}

func (d *direct) get(namespace, name string) *Object {
	if d.key.Namespace != "" && namespace != d.key.Namespace {
		return nil
	}
	return d.shown(d.options.Source.Find(d.key.GVR, namespace, name))
}

// list returns the objects in view for which isMeant is true, sorted by namespace and name.
func (d *direct) list(isMeant func(*Object) bool) []*Object {
	var all []*Object
	for _, object := range d.options.Source.Select(d.key.GVR, d.key.Namespace, d.selector) {
		if shown := inView(d.shown(object)); shown != nil && isMeant(shown) {
			all = append(all, shown)
		}
	}
	slices.SortFunc(all, compareNames)
	return all
}

// byIndex returns the objects with a value in an index.
func (d *direct) byIndex(index, value string) []*Object {
	if index == cache.NamespaceIndex && d.key.Namespace == "" {
		within := *d
		within.key.Namespace = value
		return within.list(func(*Object) bool { return true })
	}
	return d.list(func(object *Object) bool {
		values, err := d.options.Indexers[index](object)
		return err == nil && slices.Contains(values, value)
	})
}

// indexValues returns the values under which an index has objects.
func (d *direct) indexValues(index string) []string {
	var all []string
	for _, object := range d.list(func(*Object) bool { return true }) {
		values, _ := d.options.Indexers[index](object)
		all = append(all, values...)
	}
	return all
}

// Deliver calls Handle for a change in the Source, for each key that shows the object before or after it. Either is nil
// if the object does not exist then.
func (m *Monitors) Deliver(resource schema.GroupResource, before, after *unstructured.Unstructured) {
	m.mu.RLock()
	keys := slices.SortedFunc(maps.Keys(m.monitors), func(a, b Key) int {
		return strings.Compare(a.GVR.Version+a.Selector+a.Namespace, b.GVR.Version+b.Selector+b.Namespace)
	})
	m.mu.RUnlock()
	for _, key := range keys {
		mon := m.monitor(key)
		if mon == nil || key.GVR.GroupResource() != resource {
			continue
		}
		old, changed := inView(mon.direct.shown(before)), inView(mon.direct.shown(after))
		if old != nil || changed != nil {
			m.options.Handle(Event{Key: key, Old: old, New: changed})
		}
	}
}
