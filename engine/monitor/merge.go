package monitor

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"

	"kanon.dev/kanon/wire"
)

// list returns the objects that stored lists and the entries that overlaid names, each in its newest known state,
// sorted by namespace and name. Objects with an entry are only included if include, unless nil, accepts them.
func (o *overlay) list(stored func() []any, overlaid func() []string, include func(*wire.Object) bool) []*wire.Object {
	// The entries are named before the store is read: an entry that is dropped in between is in the store by then.
	// The other order could miss it.
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

// names returns the names of all entries.
func (o *overlay) names() []string {
	if o.size.Load() == 0 {
		return nil
	}
	return o.entries.ListKeys()
}

// namesByIndex returns the names of the entries whose object has a value in an index.
func (o *overlay) namesByIndex(index, value string) []string {
	if o.size.Load() == 0 {
		return nil
	}
	names, _ := o.entries.IndexKeys(index, value) // fails only for an unknown index
	return names
}

// unsettled moves the objects with an entry from list to names. If an entry was dropped since drops was read, list
// may be older than that entry was, so all its objects must be resolved again.
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
