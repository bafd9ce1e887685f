package monitor

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"

	"kanon.dev/kanon/wire"
)

// list returns what stored lists, each object in its newest known state, and the
// objects of the entries that overlaid names besides, sorted by namespace and
// name. An object whose state the store's own list does not settle is left out
// unless include, if there is one, accepts it.
func (o *overlay) list(stored func() []any, overlaid func() []string, include func(*wire.Object) bool) []*wire.Object {
	// The entries are named before the store is asked: an entry that is dropped
	// between the two is in the store by then. The other order could miss it.
	drops := o.drops.Load()
	names := sets.New(overlaid()...)
	items := stored()
	list := make([]*wire.Object, 0, len(items)+len(names))
	for _, item := range items {
		if obj, ok := item.(*wire.Object); ok && !obj.IsStub() {
			list = append(list, obj)
		}
	}

	if o.size.Load() > 0 || o.drops.Load() != drops || len(names) > 0 {
		list = o.unsettled(list, names, drops)
		for name := range names {
			if obj, ok := o.resolve(name); ok && (include == nil || include(obj)) {
				list = append(list, obj)
			}
		}
	}
	slices.SortFunc(list, compareNames)
	return list
}

// unsettled moves the objects that have an entry from list to names. If an entry
// was dropped since drops was read, list may be older than that entry was, so all
// of its objects have to be looked at again.
func (o *overlay) unsettled(list []*wire.Object, names sets.Set[string], drops int64) []*wire.Object {
	kept := slices.DeleteFunc(list, func(obj *wire.Object) bool {
		name := nameOf(obj)
		if _, ok := o.current(name); ok {
			names.Insert(name)
		}
		return names.Has(name)
	})
	if o.drops.Load() == drops {
		return kept
	}
	for _, obj := range kept {
		names.Insert(nameOf(obj))
	}
	return nil
}

func compareNames(a, b *wire.Object) int {
	return cmp.Or(strings.Compare(a.Namespace(), b.Namespace()), strings.Compare(a.Name(), b.Name()))
}
